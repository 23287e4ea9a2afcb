//! An object as the rules see it: where its conditions are, and what each of their fields says.

pub(super) mod condition;
pub(super) mod instant;
pub(super) mod path;
pub(super) mod walk;

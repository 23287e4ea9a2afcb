//! An object as the rules see it: where its conditions are, and what each of their fields says.

pub(in crate::lint) mod condition;
pub(in crate::lint) mod instant;
pub(in crate::lint) mod path;
pub(in crate::lint) mod walk;

//! What happens to an object, told in inputs and effects, with a clock that only the tests move.

mod advice;
mod architecture;
mod attempts;
mod kept_memory;
mod loosened;
mod readers;
mod readiness;
mod rest;
mod update;
mod world;

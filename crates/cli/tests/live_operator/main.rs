//! `clearway operator` as processes, on a real control plane, a real Prometheus and our own update service.

mod advice;
mod console;
mod console_changes;
mod crds;
mod evidence;
mod lab;
mod large_objects;
mod own_status;
mod policies;
mod update;
mod weather;

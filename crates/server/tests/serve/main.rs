//! The whole update service over real sockets: what it answers, what it bears, how it stays current, and how it ends.

mod answers;
mod caching;
mod client;
mod console;
mod console_browser;
mod console_changes;
mod drain;
mod files;
mod hammer;
mod openapi;
mod registry;
mod reload;
mod restart;
mod scripted;
mod site;
mod stalls;
mod status;
mod upstream;
mod upstream_faults;
mod weather;

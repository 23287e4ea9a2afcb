//! `clearway operator --policies` on a real API server, with the account and the CRDs of `clearway install --policies`.

mod admission;
mod audit;
mod certificates;
mod controller;
mod gatekeeper;
mod installed;
mod inventory;
mod lab;
mod requests;
mod rollout;
mod service;

//! Documents whose claims and tables are compared with the code.

mod limits;
mod security;
mod toolchain;

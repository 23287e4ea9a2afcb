//! Any text as an expression: reading ends, what is read prints to text that reads as the same, errors have places; and as
//! a file of tests: reading it ends.
#![no_main]

use clearway_cel::{Limits, conformance, parse, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let limits = Limits::default();
    match parse(text, &limits) {
        Ok(ast) => {
            let printed = print(&ast);
            let again = parse(&printed, &limits).expect("what is printed is read");
            assert!(again.same_tree(&ast), "{printed}");
            assert_eq!(print(&again), printed);
        }
        Err(error) => {
            assert!(error.span.end as usize <= text.len());
            _ = error.diagnostic(text);
        }
    }
    _ = conformance::run(text);
});

//! Any text as a query: reading ends, what is read prints to text that reads as the same, and fence and shape answer.
#![no_main]

use clearway_promql::{Fence, Limits, Query, shape};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let limits = Limits::default();
    match Query::parse(text, &limits) {
        Ok(query) => {
            let printed = query.to_string();
            let again = Query::parse(&printed, &limits).expect("what is printed is read");
            assert_eq!(again.to_string(), printed);
            _ = (Fence::default().check(&query), shape::findings(&query), query.metrics());
        }
        Err(errors) => {
            for error in &errors.0 {
                _ = error.diagnostic(text);
            }
        }
    }
});

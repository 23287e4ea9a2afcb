//! Any text as the address of a page of the console, and behind a line break as the form that is sent to it: reading ends, a link
//! leads back to its page, and a token is never part of what is printed.
#![no_main]

use clearway_console::{Change, Route};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (address, form) = text.split_once('\n').unwrap_or((text, text));
    let (path, query) = address.split_once('?').map_or((address, None), |(path, query)| (path, Some(query)));
    if let Ok(route) = Route::read(path, query) {
        let link = route.link();
        let (path, query) = link.split_once('?').map_or((link.as_str(), None), |(path, query)| (path, Some(query)));
        assert_eq!(Route::read(path, query).map(|again| again.link()), Ok(link.clone()), "{route:?}");
        assert!(!link.contains(['<', '>', '"', '\'', ' ']), "{link}");
    }
    for path in ["/console/start-update", "/console/accept-risk"] {
        match Change::read(path, form.as_bytes()) {
            Ok((change, token)) => {
                assert!(!change.page().link().contains(['<', '>', '"', '\'', ' ']), "{change:?}");
                assert!(token.is_none_or(|token| !format!("{token:?}").contains(token.secret())));
            }
            Err(error) => _ = error.to_string(),
        }
    }
});

//! Which effects a source file names: by path, through `use`, or by a printing macro. Tests are free.

use std::collections::BTreeSet;

use anyhow::Result;
use syn::visit::{self, Visit};

use super::{EFFECT_MACROS, EFFECT_PATHS};
use crate::is_test;

/// The effects that Rust source names outside its tests.
pub(super) fn effects(source: &str) -> Result<BTreeSet<String>> {
    let mut finder = Finder::default();
    finder.visit_file(&syn::parse_file(source)?);
    Ok(finder.found)
}

#[derive(Default)]
struct Finder {
    found: BTreeSet<String>,
}

impl Finder {
    fn see(&mut self, segments: &[String]) {
        // Addresses are values; what is sent to them is only in `std`.
        if let [first, second, ..] = segments
            && (first == "core" && second == "net")
        {
            return;
        }
        let path = segments.join("::").replacen("core::", "std::", 1);
        let effect = |effect: &&&str| path == **effect || path.starts_with(&format!("{effect}::"));
        if EFFECT_PATHS.iter().find(effect).is_some() {
            self.found.insert(path);
        }
    }

    fn see_use(&mut self, tree: &syn::UseTree, before: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.see_use(&path.tree, before);
                before.pop();
            }
            syn::UseTree::Name(syn::UseName { ident }) | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
                // `use std::fs::{self}` is `use std::fs`.
                let own = (ident != "self").then(|| ident.to_string());
                let path: Vec<String> = before.iter().cloned().chain(own).collect();
                self.see(&path);
            }
            syn::UseTree::Glob(_) => self.see(before),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.see_use(tree, before)),
        }
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.see_use(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.see(&path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        if let Some(name) = item.path.get_ident().filter(|name| EFFECT_MACROS.iter().any(|effect| name == effect)) {
            self.found.insert(format!("{name}!"));
        }
        visit::visit_macro(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_an_effect_is_seen() {
        for (source, want) in [
            ("use std::fs;", "std::fs"),
            ("use std::{fmt, fs::{self, File}};", "std::fs"),
            ("use std::time::{Duration, Instant as Clock};", "std::time::Instant"),
            ("use std::env::*;", "std::env"),
            ("fn f() { let _ = std::time::SystemTime::now(); }", "std::time::SystemTime::now"),
            ("fn f(_: ::std::net::TcpStream) {}", "std::net::TcpStream"),
            ("fn f() { println!(\"x\"); }", "println!"),
        ] {
            assert!(effects(source).unwrap().contains(want), "{source}");
        }
    }

    #[test]
    fn pure_code_comments_texts_and_tests_are_free() {
        for source in [
            "use std::{fmt, io::BufRead, time::Duration};",
            "use core::net::Ipv6Addr;",
            "/// Unlike `std::fs`, this is pure.\nfn f() { let _ = \"std::env::var\"; }",
            "#[cfg(test)] mod tests { use std::fs; }",
            "#[test] fn f() { println!(\"x\"); }",
        ] {
            assert_eq!(effects(source).unwrap(), BTreeSet::new(), "{source}");
        }
    }
}

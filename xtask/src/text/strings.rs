//! The strings and public types of a source file, its tests apart.

use anyhow::Result;
use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::is_test;

/// What a file holds that is checked.
#[derive(Default)]
pub(super) struct Found {
    pub(super) texts: Vec<Text>,
    pub(super) public_types: Vec<String>,
}

/// A text with its line.
pub(super) struct Text {
    pub(super) line: usize,
    pub(super) text: String,
}

/// The strings of Rust source outside its tests; with `help`, its documentation too.
pub(super) fn of_source(source: &str, help: bool) -> Result<Found> {
    let mut finder = Finder { help, found: Found::default() };
    finder.visit_file(&syn::parse_file(source)?);
    Ok(finder.found)
}

struct Finder {
    help: bool,
    found: Found,
}

impl Finder {
    fn add(&mut self, line: usize, text: String) {
        self.found.texts.push(Text { line, text });
    }

    /// The strings among the tokens of a macro or an attribute, which are not parsed.
    fn tokens(&mut self, tokens: TokenStream) {
        for tree in tokens {
            match tree {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.add(literal.span().start().line, text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    fn public_type(&mut self, visibility: &syn::Visibility, name: &syn::Ident) {
        // Names inside of a crate are for those who read it anyway.
        if matches!(visibility, syn::Visibility::Public(_)) {
            self.found.public_types.push(name.to_string());
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

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.public_type(&item.vis, &item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.public_type(&item.vis, &item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.public_type(&item.vis, &item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.add(text.span().start().line, text.value());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        match &attribute.meta {
            syn::Meta::List(list) => self.tokens(list.tokens.clone()),
            syn::Meta::NameValue(pair) if self.help && pair.path.is_ident("doc") => {
                if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value {
                    self.add(pair.span().start().line, text.value());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_code_macros_and_attributes_are_found_and_those_of_tests_are_not() {
        let source = r#"
            #[error("in an attribute")] pub struct Public;
            struct Private;
            /// help
            fn f() { let _ = ("in code", format!("in a {}", call("macro"))); }
            #[cfg(test)] mod tests { const A: &str = "in a test"; }
            #[test] fn t() { let _ = "in a test"; }
        "#;
        let texts = |help| -> Vec<String> {
            of_source(source, help).unwrap().texts.into_iter().map(|text| text.text.trim().to_owned()).collect()
        };
        assert_eq!(texts(false), ["in an attribute", "in code", "in a {}", "macro"]);
        assert_eq!(texts(true), ["in an attribute", "help", "in code", "in a {}", "macro"]);
        assert_eq!(of_source(source, false).unwrap().public_types, ["Public"]);
    }
}

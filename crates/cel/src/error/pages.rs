//! The documentation of the codes of CEL, with an expression that has each and one that does not.

use clearway_core::Severity;
use clearway_core::diagnostic::CodePage;

use super::ErrorClass;

/// The pages of all codes, in their order.
pub fn pages() -> Vec<CodePage> {
    let page = |(class, texts): &(ErrorClass, [&'static str; 5])| {
        let [title, meaning, action, wrong, right] = *texts;
        CodePage::new(class.code(), Some(Severity::Error), title, meaning, action).with_example(wrong, right)
    };
    PAGES.iter().map(page).collect()
}

/// A class of the code with its title, meaning, action, and examples.
#[rustfmt::skip]
const PAGES: &[(ErrorClass, [&str; 5])] = &[
    (ErrorClass::Syntax, ["An expression that is not valid CEL", "The API server refuses it, and no rule with it can be evaluated.", "Correct the expression at the place that is shown.", "self.replicas = 3", "self.replicas == 3"]),
    (ErrorClass::TooLarge, ["An expression above a limit of its size", "The text, its types or its patterns are larger than an expression may be. docs/limits.md lists the limits.", "Split the expression, or shorten its patterns.", "", ""]),
    (ErrorClass::Undeclared, ["A name that is not declared", "The environment has no such variable, field or function. A misspelt name, or a function of a newer Kubernetes version, is the usual cause.", "Correct the name; `clearway cel explain` lists the functions of an environment.", "self.replica > 1", "self.replicas > 1"]),
    (ErrorClass::Type, ["Types that do not match", "An operator or function gets values of types that it does not accept, or the result is not of the wanted type.", "Convert one of the values, or compare values of one type.", "self.replicas == '3'", "self.replicas == 3"]),
    (ErrorClass::InvalidConstant, ["A constant that is not valid", "A duration, time, pattern or other constant can never be converted to what it is used as.", "Correct the constant.", "duration('5 minutes')", "duration('5m')"]),
    (ErrorClass::Unsupported, ["A feature of CEL that is not supported", "CEL has it, but Kubernetes or this engine does not.", "Write the expression without it.", "", ""]),
    (ErrorClass::EstimatedCost, ["An estimated cost above the limit", "The API server refuses expressions that may cost too much for the largest object that the schema allows.", "Give lists and strings of the schema a maximum (`maxItems`, `maxLength`), and avoid nested loops.", "self.rules.all(r, self.rules.exists(o, o.name == r.next))", "self.rules.all(r, r.name != '')"]),
    (ErrorClass::NoSuchKey, ["An evaluation that failed", "The expression is valid, but failed for this object: a field is missing, an index is outside a list, a number is out of range, or a budget is used up. The message names the class.", "Test with `has()` whether a field exists, and guard divisions and indices.", "self.spec.mode == 'a'", "has(self.spec.mode) && self.spec.mode == 'a'"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_in_order_and_what_is_right_can_be_read() {
        let pages = pages();
        assert!(pages.windows(2).all(|pair| pair[0].code < pair[1].code));
        for page in pages.iter().filter(|page| !page.right.is_empty()) {
            assert!(crate::parse(&page.right, &crate::Limits::default()).is_ok(), "{}: {}", page.code, page.right);
        }
    }
}

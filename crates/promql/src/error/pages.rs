//! The documentation of every code of this crate, with a query that has it and one that does not.

use clearway_core::Severity;
use clearway_core::diagnostic::CodePage;

use super::Code;

/// The pages of all codes, in their order.
pub fn pages() -> Vec<CodePage> {
    let page = |(code, severity, texts): &(Code, Severity, [&'static str; 5])| {
        let [title, meaning, action, wrong, right] = *texts;
        CodePage::new(code.as_str(), Some(*severity), title, meaning, action).with_example(wrong, right)
    };
    PAGES.iter().map(page).collect()
}

use Severity::{Error as E, Warning as W};

/// A code with its title, meaning, action, and examples.
#[rustfmt::skip]
const PAGES: &[(Code, Severity, [&str; 5])] = &[
    (Code::TooLong, E, ["A query that is too long", "Queries come from publishers. A longer one is not read at all, so its rule cannot be evaluated.", "Shorten the query, or record a part of it as a metric of its own.", "", ""]),
    (Code::TooDeep, E, ["A query that is nested too deep", "Reading it would take more stack than one query may use, so it is refused.", "Remove parentheses, or split the query.", "((((((((((…))))))))))", "max(up)"]),
    (Code::Character, E, ["A character that PromQL does not have", "Prometheus refuses the query.", "Remove the character. Quotation marks from a word processor are the usual cause.", "up{job=“node”}", "up{job=\"node\"}"]),
    (Code::Text, E, ["A string that is not closed or has an invalid escape", "Prometheus refuses the query.", "Close the string, and write a backslash as `\\\\`.", "up{job=\"node}", "up{job=\"node\"}"]),
    (Code::Number, E, ["A number or duration that cannot be read", "Prometheus refuses the query.", "Write durations such as 5m or 1h30m.", "rate(errors_total[5 minutes])", "rate(errors_total[5m])"]),
    (Code::Syntax, E, ["A query that is not valid PromQL", "Prometheus refuses the query, so no cluster can evaluate the rule.", "Correct the query at the place that is shown.", "max(up", "max(up)"]),
    (Code::Experimental, E, ["A feature of PromQL that is experimental", "Prometheus refuses it unless a feature flag is set, so most clusters cannot evaluate the query.", "Use stable functions only, or pass --allow-experimental-functions if all clusters have the flag.", "limitk(1, up)", "topk(1, up)"]),
    (Code::Selector, E, ["A selector that would match everything or nothing", "Prometheus refuses a selector without a metric name and without a matcher that excludes the empty string.", "Name the metric.", "max({job=~\".*\"})", "max(up{job=~\".+\"})"]),
    (Code::Regex, E, ["A regular expression that is not valid", "Prometheus refuses the query.", "Correct the expression; the syntax is that of RE2.", "up{job=~\"a(\"}", "up{job=~\"a.*\"}"]),
    (Code::Function, E, ["A function that is unknown, or has the wrong arguments", "Prometheus refuses the query.", "Correct the name or the arguments.", "maximum(up)", "max(up)"]),
    (Code::Type, E, ["Types that do not fit", "A function or operator has a value of a type that it does not accept; Prometheus refuses the query.", "Add a range to the selector, or remove it.", "rate(errors_total)", "rate(errors_total[5m])"]),
    (Code::Matching, E, ["Vector matching that is not possible", "`on`, `ignoring`, `group_left` and `group_right` are used where they have no meaning; Prometheus refuses the query.", "Remove the modifier, or use it between two vectors.", "up * on(job) 2", "up * on(job) target_info"]),
    (Code::Modifier, E, ["A modifier at the wrong place", "`offset`, `@` and ranges belong directly to a selector or subquery; Prometheus refuses the query.", "Move the modifier to the selector.", "max(up) offset 5m", "max(up offset 5m)"]),
    (Code::Fence, E, ["A query above a limit", "The query reads more, or is larger, than publishers may ask for. It is not run, and its risk is Unknown.", "Name the metric, shorten ranges and use fewer selectors; or raise the limit that the message names.", "max_over_time(up[90d])", "max_over_time(up[1h])"]),
    (Code::NotAVector, E, ["A result that is not an instant vector", "A risk applies if the query gives one series with 1. A scalar, a string or a range can never be one series.", "Write `vector(…)` around a scalar, or remove the range.", "scalar(max(up))", "max(up)"]),
    (Code::NoZeroBranch, W, ["A query that never gives 0", "Where the risk does not apply the query gives no series, which is a failed evaluation: the update is Unknown instead of recommended.", "Add a branch that gives 0 for clusters without the risk, over a metric that every cluster has.", "group(cluster_proxy_enabled)", "group(cluster_proxy_enabled) or 0 * group(cluster_version)"]),
    (Code::NoOneBranch, W, ["A query that never gives 1", "The risk would apply to no cluster.", "Remove the risk, or correct the query.", "0 * group(cluster_version)", "group(cluster_proxy_enabled) or 0 * group(cluster_version)"]),
    (Code::OutsideZeroOne, W, ["A query that may give another value than 0 and 1", "Any other value is a failed evaluation.", "Compare with `bool`, or use `group`.", "sum(errors_total)", "sum(errors_total) > bool 0"]),
    (Code::SeveralSeries, W, ["A query that may give several series", "Several series are a failed evaluation, also when all of them have the same value.", "Aggregate to one series with `max` or `group`.", "cluster_proxy_enabled > bool 0", "max(cluster_proxy_enabled > bool 0)"]),
    (Code::RegexUnderEquals, W, ["A regular expression after `=`", "`=` compares the whole text, so the selector matches nothing, and the query probably gives no series.", "Write `=~`, or escape nothing if the text is meant literally.", "up{job=\"node.*\"}", "up{job=~\"node.*\"}"]),
    (Code::Evaluation, E, ["An evaluation that fails in Prometheus too", "The series and the query do not fit together, such as several matches on the one side of an operator.", "Aggregate before the operator, or match on more labels.", "a * on(cluster) b", "max by(cluster) (a) * on(cluster) max by(cluster) (b)"]),
    (Code::NativeHistogram, E, ["A native histogram", "Native histograms are not evaluated without a Prometheus.", "Use a classic histogram, or ask a Prometheus with --prometheus.", "", ""]),
    (Code::Unsupported, E, ["Something that is not evaluated without a Prometheus", "The query is valid, but this evaluation does not support it.", "Ask a Prometheus with --prometheus.", "", ""]),
    (Code::Budget, E, ["An evaluation above its budget", "It reads more samples than one evaluation may. Its risk is Unknown.", "Name the metric and shorten ranges.", "", ""]),
    (Code::Stopped, E, ["An evaluation that was stopped", "The time for it was over, or the command was interrupted.", "Run it again, with a longer timeout if the store is slow.", "", ""]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Query};

    #[test]
    fn every_code_has_one_page_in_order() {
        let pages = pages();
        assert!(pages.windows(2).all(|pair| pair[0].code < pair[1].code));
        assert_eq!(pages.len(), 25);
    }

    #[test]
    fn what_is_right_can_be_read() {
        for page in pages().iter().filter(|page| !page.right.is_empty()) {
            assert!(Query::parse(&page.right, &Limits::default()).is_ok(), "{}: {}", page.code, page.right);
        }
    }
}

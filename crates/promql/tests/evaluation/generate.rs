//! Series and queries that are shown to both.

use std::collections::BTreeSet;
use std::fmt::Write;

use clearway_promql::Query;
use clearway_promql::ast::MatchOp;
use proptest::prelude::*;

use crate::compare::Kind;

/// The time of the first sample, in milliseconds since 1970.
pub(crate) const START: i64 = 1_700_000_000_000;
/// The time of the last sample.
pub(crate) const END: i64 = START + 3_600_000;

/// Numbers that are no pattern, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap() % sides
    }
}

fn sample(out: &mut String, series: &str, value: &str, time: i64) {
    let _ = writeln!(out, "{series} {value} {}.{:03}", time / 1000, time % 1000);
}

/// Gauges, counters with resets, gaps, histograms, and values at the ends of what numbers can be.
pub(crate) fn series() -> String {
    let mut out = String::new();
    let mut dice = Dice(7);
    let times = |step: i64| (0..).map(move |index| START + index * step).take_while(|time| *time <= END);
    for (index, (a, b)) in [("x", "1"), ("x", "2"), ("y", "1"), ("y", "2"), ("z", "10")].into_iter().enumerate() {
        let mut count = 0;
        for time in times(30_000) {
            let gap = dice.roll(25) == 0;
            count = if dice.roll(40) == 0 { dice.roll(5) } else { count + dice.roll(20) };
            if gap {
                continue;
            }
            sample(&mut out, &format!("c_total{{a=\"{a}\",b=\"{b}\"}}"), &count.to_string(), time);
            let value = f64::from(dice.roll(2_000_001)) / 1_000.0 - 1_000.0;
            sample(&mut out, &format!("g{{a=\"{a}\",b=\"{b}\"}}"), &value.to_string(), time);
            if index < 3 {
                let level = (dice.roll(3) + u32::try_from(index).unwrap()).to_string();
                sample(&mut out, &format!("h{{a=\"{a}\",c=\"{level}\"}}"), &level, time);
            }
        }
    }
    for time in times(60_000) {
        let value = ["NaN", "+Inf", "-Inf", "0", "-0", "1e300", "-1e300", "1e-300", "0.1"];
        for a in ["x", "y"] {
            let value = value[dice.roll(9) as usize];
            sample(&mut out, &format!("odd{{a=\"{a}\"}}"), value, time);
        }
        sample(&mut out, "single", &(time / 60_000 % 7).to_string(), time);
        sample(&mut out, "info{a=\"x\",d=\"first\"}", "1", time);
        sample(&mut out, "info{a=\"y\",d=\"second\"}", "1", time);
        sample(&mut out, "when", &(time / 1_000 - 5_000_000).to_string(), time);
    }
    for a in ["x", "y"] {
        let mut counts = [0_u32; 5];
        for time in times(30_000) {
            let mut total = 0;
            for (le, count) in ["0.1", "0.5", "1", "10", "+Inf"].into_iter().zip(&mut counts) {
                *count += dice.roll(4);
                total += *count;
                sample(&mut out, &format!("d_bucket{{a=\"{a}\",le=\"{le}\"}}"), &total.to_string(), time);
            }
        }
    }
    // A series that ended before the others.
    for time in times(30_000).take(60) {
        sample(&mut out, "gone{a=\"x\"}", "3", time);
    }
    out
}

fn pick(choices: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    prop::sample::select(choices).prop_map(str::to_owned)
}

/// When queries are asked.
pub(crate) fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => (START - 60_000..END + 400_000).prop_map(Kind::Instant),
        1 => (START..END, 1_i64..6, 1_i64..900)
            // Whole seconds: they read the step as a float.
            .prop_map(|(start, steps, step)| Kind::Range { start, end: start + steps * step * 1_000, step: step * 1_000 }),
    ]
}

const SELECTORS: &[&str] = &[
    "g",
    "g",
    "c_total",
    "h",
    "odd",
    "info",
    "single",
    "gone",
    "when",
    "missing",
    "d_bucket",
    "g{a=\"x\"}",
    "g{a!=\"x\"}",
    "c_total{b=~\"1|2\"}",
    "c_total{a!~\"x|y\"}",
    "h{c=\"\"}",
    "{__name__=~\"g|h\"}",
    "{a=\"x\"}",
    "{__name__=~\"g|single\",b!=\"2\"}",
    "info{d=~\".+\"}",
];
const SHIFTS: &[&str] =
    &["", "", "", "", " offset 7m", " offset -3m", " @ 1700001000", " @ start()", " @ end() offset 1m"];

/// Queries that are well-typed, most of which give something.
pub(crate) fn queries() -> impl Strategy<Value = String> {
    let number =
        pick(&["0", "1", "2", "-1", "0.5", "3.7", "NaN", "Inf", "-Inf", "1e3", "time()", "scalar(single)", "pi()"]);
    let range = (pick(SELECTORS), pick(&["[5m]", "[90s]", "[10m]", "[1h]", "[31s]"]), pick(SHIFTS))
        .prop_map(|(selector, range, shift)| format!("{selector}{range}{shift}"));
    let leaf = prop_oneof![
        6 => (pick(SELECTORS), pick(SHIFTS)).prop_map(|(selector, shift)| format!("{selector}{shift}")),
        6 => (
            pick(&[
                "rate", "increase", "delta", "irate", "idelta", "changes", "resets", "deriv", "avg_over_time", "sum_over_time",
                "min_over_time", "max_over_time", "count_over_time", "last_over_time", "first_over_time", "stddev_over_time",
                "stdvar_over_time", "present_over_time", "mad_over_time", "ts_of_max_over_time", "ts_of_min_over_time",
                "ts_of_first_over_time", "ts_of_last_over_time", "absent_over_time",
            ]),
            range.clone()
        ).prop_map(|(function, range)| format!("{function}({range})")),
        1 => (number.clone(), range.clone()).prop_map(|(q, range)| format!("quantile_over_time({q}, {range})")),
        1 => (number.clone(), range.clone()).prop_map(|(ahead, range)| format!("predict_linear({range}, {ahead})")),
        1 => (range, pick(&["0.3", "0.9", "1.5"]), pick(&["0.1", "0.5", "0"]))
            .prop_map(|(range, smoothing, trend)| format!("double_exponential_smoothing({range}, {smoothing}, {trend})")),
        1 => number.clone().prop_map(|number| format!("vector({number})")),
    ];
    leaf.prop_recursive(3, 10, 2, move |inner| {
        let labels = pick(&["()", "(a)", "(a, b)", "(b, c)", "(nope)", "(__name__)", "(a, __name__)", "(le)"]);
        let grouping = prop_oneof![
            2 => Just(String::new()),
            4 => (pick(&["by", "without"]), labels.clone()).prop_map(|(word, labels)| format!("{word} {labels} ")),
        ];
        let op = pick(&["+", "-", "*", "/", "%", "^", "atan2", "==", "!=", "<", ">=", "> bool", "== bool"]);
        let matching = prop_oneof![
            3 => Just(String::new()),
            3 => (pick(&["on", "ignoring"]), labels.clone()).prop_map(|(word, labels)| format!("{word} {labels}")),
            3 => (pick(&["on", "ignoring"]), pick(&["(a)", "(b)", "(a, b)", "(nope)", "()"]), pick(&["group_left", "group_right"]), pick(&["", "(d)", "(c, d)", "(nope)"]))
                .prop_map(|(word, labels, side, include)| format!("{word} {labels} {side} {include}")),
        ];
        let sets = (pick(&["and", "or", "unless"]), prop_oneof![Just(String::new()), (pick(&["on", "ignoring"]), labels).prop_map(|(word, labels)| format!("{word} {labels}"))]);
        prop_oneof![
            5 => (pick(&["sum", "avg", "count", "min", "max", "group", "stddev", "stdvar"]), grouping.clone(), inner.clone())
                .prop_map(|(op, grouping, inner)| format!("{op} {grouping}({inner})")),
            1 => (grouping.clone(), number.clone(), inner.clone())
                .prop_map(|(grouping, q, inner)| format!("quantile {grouping}({q}, {inner})")),
            1 => (grouping.clone(), inner.clone()).prop_map(|(grouping, inner)| format!("count_values {grouping}(\"v\", {inner})")),
            1 => (pick(&["0.5", "-0.3", "0.9", "2", "-1.5", "0"]), grouping, inner.clone())
                .prop_map(|(ratio, grouping, inner)| format!("limit_ratio {grouping}({ratio}, {inner})")),
            3 => (inner.clone(), op.clone(), matching, inner.clone()).prop_map(|(l, op, matching, r)| format!("({l}) {op} {matching} ({r})")),
            2 => (inner.clone(), sets, inner.clone()).prop_map(|(l, (op, matching), r)| format!("({l}) {op} {matching} ({r})")),
            2 => (inner.clone(), op.clone(), number.clone()).prop_map(|(l, op, number)| format!("({l}) {op} {number}")),
            1 => (number.clone(), op, inner.clone()).prop_map(|(number, op, r)| format!("{number} {op} ({r})")),
            2 => (pick(&["abs", "ceil", "floor", "round", "sgn", "-", "+", "absent", "exp", "ln", "log2", "log10", "sqrt", "sin",
                "acos", "tanh", "deg", "rad", "timestamp", "sort", "sort_desc", "year", "month", "day_of_week", "day_of_year",
                "days_in_month", "hour", "minute", "histogram_count", "vector(scalar"]), inner.clone())
                .prop_map(|(function, inner)| format!("{function}({inner}){}", if function.contains('(') { ")" } else { "" })),
            1 => (pick(&["clamp_min", "clamp_max", "round"]), inner.clone(), number.clone())
                .prop_map(|(function, inner, number)| format!("{function}({inner}, {number})")),
            1 => (inner.clone(), number.clone(), number.clone()).prop_map(|(inner, low, high)| format!("clamp({inner}, {low}, {high})")),
            2 => (inner.clone(), pick(&["a", "b", "new", "__name__"]), pick(&["$1", "v-$1", "", "${1}$1", "$2"]),
                pick(&["a", "b", "__name__", "nope"]), pick(&["(.*)", "(x|y)", "(.)(.*)", "", "z"]))
                .prop_map(|(inner, to, with, from, pattern)| format!("label_replace({inner}, \"{to}\", \"{with}\", \"{from}\", \"{pattern}\")")),
            1 => (inner.clone(), pick(&["a", "new", "__name__"]), pick(&["", "-"]), pick(&["\"a\"", "\"a\", \"b\"", "\"nope\", \"__name__\""]))
                .prop_map(|(inner, to, with, from)| format!("label_join({inner}, \"{to}\", \"{with}\", {from})")),
            1 => (number.clone(), inner.clone()).prop_map(|(q, inner)| format!("histogram_quantile({q}, {inner})")),
            1 => (number.clone(), number.clone(), inner.clone())
                .prop_map(|(low, high, inner)| format!("histogram_fraction({low}, {high}, {inner})")),
            2 => (pick(&["max_over_time", "rate", "last_over_time", "count_over_time", "absent_over_time", "delta", "deriv"]),
                inner, pick(&["[10m:1m]", "[5m:45s]", "[20m:]", "[8m:7m]", "[3m:3m]"]), pick(SHIFTS))
                .prop_map(|(function, inner, range, shift)| format!("{function}(({inner}){range}{shift})")),
        ]
    })
}

/// What the generator does not reach, or seldom.
pub(crate) const WRITTEN: &[&str] = &[
    "topk(2, g)",
    "bottomk(3, g)",
    "topk by (a) (1, g)",
    "bottomk without (b) (1, g)",
    "topk(0, g)",
    "topk(-3, g)",
    "topk(NaN, g)",
    "topk(1e30, g)",
    "limitk(2, g)",
    "count(limitk by (a) (1, g))",
    "topk(1.9, odd)",
    "bottomk(2, odd)",
    "topk(scalar(single), g)",
    "quantile(0.5, odd)",
    "quantile(7, g)",
    "limit_ratio(NaN, g)",
    "sum(odd)",
    "avg(odd)",
    "stddev(odd)",
    "count_values(\"a\", h)",
    "count_values by (a) (\"\", h)",
    "count_values without (c) (\"x y\", odd)",
    "sort_by_label(g, \"b\", \"a\")",
    "sort_by_label_desc(g, \"a\")",
    "sort(odd)",
    "sort_desc(odd)",
    "g[5m]",
    "g[5m] offset 5m",
    "(g > 0)[5m:30s]",
    "-g[2m:]",
    "odd[10m]",
    "1",
    "-1 ^ 2",
    "\"text\"",
    "(\"text\")",
    "time()",
    "start() + end() - range() * step()",
    "vector(start())",
    "min_of(1, NaN)",
    "max_of(time(), 3)",
    "rate(c_total[30s])",
    "rate(c_total[61s])",
    "increase(c_total[1h] @ end())",
    "rate(d_bucket[5m])",
    "histogram_quantile(0.9, rate(d_bucket[5m]))",
    "histogram_quantile(0.5, sum by (le) (d_bucket))",
    "histogram_quantile(1.5, d_bucket)",
    "histogram_quantile(0.5, g)",
    "histogram_quantiles(d_bucket, \"q\", 0.1, 0.5, 1)",
    "histogram_fraction(0, 0.7, d_bucket)",
    "histogram_fraction(-Inf, +Inf, d_bucket)",
    "histogram_sum(g)",
    "year(when)",
    "day_of_week(when)",
    "year(vector(NaN))",
    "year(vector(1e300))",
    "month(vector(-1e18))",
    "days_in_month(vector(1e17))",
    "day_of_year(vector(-62135596800))",
    "hour(vector(-1))",
    "minute()",
    "month()",
    "absent(missing{a=\"b\",c=~\"d\",e=\"f\",e=\"g\"})",
    "absent(g)",
    "absent_over_time(missing{a=\"b\"}[5m])",
    "absent(sum(missing))",
    "g + on (a) g",
    "g + on (a) group_left h",
    "g * on (a) group_left (d) info",
    "info * on (a) group_right (d) g",
    "g * ignoring (b) info",
    "g == on (a, b) c_total",
    "g / on (b) group_left g",
    "single + on () group_left (a) g",
    "single * on () group_right g",
    "sum by (__name__) (rate({a=\"x\"}[5m]))",
    "label_replace(rate(c_total[5m]), \"__name__\", \"r_$1\", \"__name__\", \"(.*)\")",
    "label_replace(g, \"a\", \"same\", \"\", \"\")",
    "label_replace(g, \"\", \"x\", \"a\", \".*\")",
    "label_replace(g, \"n\", \"x\", \"a\", \"(\")",
    "label_join(g, \"\", \"-\", \"a\")",
    "label_join(g, \"n\", \"-\", \"\")",
    "{__name__=~\"g|h\"} + 1",
    "-{__name__=~\"g|h\"}",
    "abs({__name__=~\"info|gone\"})",
    "sum({__name__=~\"g|h\"} * 2)",
    "timestamp(g)",
    "timestamp(g offset 5m)",
    "timestamp(g @ 1700001000 offset 5m)",
    "timestamp(-g)",
    "timestamp((g))",
    "topk(scalar(single), g @ 1700001000)",
    "g @ 1700001000 + g",
    "predict_linear(g[10m] @ 1700001000, 60)",
    "sum_over_time((g @ start())[10m:1m])",
    "max_over_time(rate(c_total[2m])[10m:1m] @ end() offset 1m)",
    "deriv(odd[20m])",
    "double_exponential_smoothing(g[10m], 0, 0.5)",
    "double_exponential_smoothing(missing[10m], 0, 0.5)",
    "scalar(g)",
    "scalar(single)",
    "clamp(g, 5, -5)",
    "clamp(odd, NaN, 1)",
    "clamp_max(odd, -Inf)",
    "round(g, 0)",
    "round(g, -5)",
    "1 / 0",
    "0 % 0",
    "2 ^ 0.5",
    "sort(sum(g))",
    "sum(sort(g))",
    "sort(vector(1))",
    "rate(g[5m])",
    "increase({a=\"x\"}[5m])",
    "vector(1) and on () g",
    "g unless g",
    "g or h or single",
];

/// Series that the selectors of these queries find, or just miss: every metric with every value its matchers name.
pub(crate) fn risk_series(queries: &[Query], variant: u64) -> String {
    let mut dice = Dice(variant * 31 + 1);
    let mut names: BTreeSet<String> = BTreeSet::new();
    for selector in queries.iter().flat_map(Query::selectors) {
        let Some(metric) = &selector.metric else { continue };
        let labels = selector.matchers.iter().filter(|matcher| matcher.label.text != "_id");
        let mut fixed: Vec<String> = labels
            .filter(|matcher| !matcher.value.text.is_empty())
            .map(|matcher| {
                let value = match matcher.op {
                    MatchOp::Equal => matcher.value.text.clone(),
                    _ => ["https", "AWS", "4.9.1", "4.12.0", "nodes", "x.ecr.y/z", "rendered-main"]
                        [dice.roll(7) as usize]
                        .to_owned(),
                };
                let value = if dice.roll(4) == 0 { "other".to_owned() } else { value };
                format!("{}=\"{}\"", matcher.label.text, value.replace('\\', "\\\\").replace('"', "\\\""))
            })
            .collect();
        fixed.sort();
        fixed.dedup_by(|later, kept| later.split('=').next() == kept.split('=').next());
        // Some metrics are missing, some have several series.
        for copy in 0..dice.roll(4) {
            let mut labels = fixed.clone();
            labels.push(format!("node=\"n{copy}\""));
            labels.sort();
            labels.dedup_by(|later, kept| later.split('=').next() == kept.split('=').next());
            names.insert(format!("{}{{{}}}", metric.name.text, labels.join(",")));
        }
    }
    let mut out = String::new();
    for series in names {
        let value = dice.roll(3).to_string();
        for index in 0..120 {
            if dice.roll(20) > 0 {
                sample(&mut out, &series, &value, END - index * 30_000);
            }
        }
    }
    out
}

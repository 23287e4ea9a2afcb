//! The functions of Prometheus 3: what they take and what they give.

use crate::analysis::types::ValueType::{self, Scalar, String, Vector};

use ValueType::Matrix;

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// The types of its arguments. The last one stands for all further ones.
    pub arguments: &'static [ValueType],
    /// How many arguments it takes.
    pub arity: Arity,
    /// What it gives.
    pub returns: ValueType,
    /// Whether Prometheus has it behind a feature flag.
    pub experimental: bool,
}

/// How many arguments a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arity {
    /// At least so many.
    pub least: usize,
    /// At most so many; any number if nothing is said.
    pub most: Option<usize>,
}

/// The function with this name. Names of functions are case-sensitive.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok().and_then(|index| FUNCTIONS.get(index))
}

const fn exactly(name: &'static str, arguments: &'static [ValueType], returns: ValueType) -> Function {
    let arity = Arity { least: arguments.len(), most: Some(arguments.len()) };
    Function { name, arguments, arity, returns, experimental: false }
}

/// Instant vector in, instant vector out.
const fn map(name: &'static str) -> Function {
    exactly(name, &[Vector], Vector)
}

/// Range vector in, instant vector out.
const fn over(name: &'static str) -> Function {
    exactly(name, &[Matrix], Vector)
}

/// A part of a date: of the vector, or of the time of evaluation.
const fn date(name: &'static str) -> Function {
    between(map(name), 0, Some(1))
}

const fn between(function: Function, least: usize, most: Option<usize>) -> Function {
    Function { arity: Arity { least, most }, ..function }
}

const fn experimental(function: Function) -> Function {
    Function { experimental: true, ..function }
}

/// All functions, in the order of their names.
pub static FUNCTIONS: &[Function] = &[
    map("abs"),
    map("absent"),
    over("absent_over_time"),
    map("acos"),
    map("acosh"),
    map("asin"),
    map("asinh"),
    map("atan"),
    map("atanh"),
    over("avg_over_time"),
    map("ceil"),
    over("changes"),
    exactly("clamp", &[Vector, Scalar, Scalar], Vector),
    exactly("clamp_max", &[Vector, Scalar], Vector),
    exactly("clamp_min", &[Vector, Scalar], Vector),
    map("cos"),
    map("cosh"),
    over("count_over_time"),
    date("day_of_month"),
    date("day_of_week"),
    date("day_of_year"),
    date("days_in_month"),
    map("deg"),
    over("delta"),
    over("deriv"),
    experimental(exactly("double_exponential_smoothing", &[Matrix, Scalar, Scalar], Vector)),
    experimental(exactly("end", &[], Scalar)),
    map("exp"),
    experimental(over("first_over_time")),
    map("floor"),
    map("histogram_avg"),
    map("histogram_count"),
    exactly("histogram_fraction", &[Scalar, Scalar, Vector], Vector),
    exactly("histogram_quantile", &[Scalar, Vector], Vector),
    experimental(between(exactly("histogram_quantiles", &[Vector, String, Scalar, Scalar], Vector), 3, Some(12))),
    map("histogram_stddev"),
    map("histogram_stdvar"),
    map("histogram_sum"),
    date("hour"),
    over("idelta"),
    over("increase"),
    experimental(between(exactly("info", &[Vector, Vector], Vector), 1, Some(2))),
    experimental(between(exactly("integral", &[Matrix, Scalar], Vector), 1, Some(2))),
    over("irate"),
    between(exactly("label_join", &[Vector, String, String, String], Vector), 3, None),
    exactly("label_replace", &[Vector, String, String, String, String], Vector),
    over("last_over_time"),
    map("ln"),
    map("log10"),
    map("log2"),
    experimental(over("mad_over_time")),
    experimental(exactly("max_of", &[Scalar, Scalar], Scalar)),
    over("max_over_time"),
    experimental(exactly("min_of", &[Scalar, Scalar], Scalar)),
    over("min_over_time"),
    date("minute"),
    date("month"),
    exactly("pi", &[], Scalar),
    exactly("predict_linear", &[Matrix, Scalar], Vector),
    over("present_over_time"),
    exactly("quantile_over_time", &[Scalar, Matrix], Vector),
    map("rad"),
    experimental(exactly("range", &[], Scalar)),
    over("rate"),
    over("resets"),
    between(exactly("round", &[Vector, Scalar], Vector), 1, Some(2)),
    exactly("scalar", &[Vector], Scalar),
    map("sgn"),
    map("sin"),
    map("sinh"),
    map("sort"),
    experimental(between(exactly("sort_by_label", &[Vector, String], Vector), 1, None)),
    experimental(between(exactly("sort_by_label_desc", &[Vector, String], Vector), 1, None)),
    map("sort_desc"),
    map("sqrt"),
    experimental(exactly("start", &[], Scalar)),
    experimental(map("start_timestamp")),
    over("stddev_over_time"),
    over("stdvar_over_time"),
    experimental(exactly("step", &[], Scalar)),
    over("sum_over_time"),
    map("tan"),
    map("tanh"),
    exactly("time", &[], Scalar),
    map("timestamp"),
    experimental(over("ts_of_first_over_time")),
    experimental(over("ts_of_last_over_time")),
    experimental(over("ts_of_max_over_time")),
    experimental(over("ts_of_min_over_time")),
    exactly("vector", &[Scalar], Vector),
    date("year"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_function_is_found() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.name < b.name));
        assert!(FUNCTIONS.iter().all(|f| function(f.name) == Some(f)));
        assert_eq!(function("Rate"), None);
    }
}

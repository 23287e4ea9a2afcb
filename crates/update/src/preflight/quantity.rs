//! Amounts as Kubernetes writes them: `250m`, `1.5Gi`, `1e3`.

/// The number of an amount, near enough to compare what fits; nothing if it is none.
pub(super) fn number(text: &str) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 15] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let found = SUFFIXES.iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)));
    let (digits, factor) = found.unwrap_or((text, 1.0));
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    digits.parse::<f64>().ok().filter(|number| plain && number.is_finite()).map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_the_api_writes_them() {
        for (text, want) in [
            ("1", Some(1.0)),
            ("250m", Some(0.25)),
            ("1.5Gi", Some(1_610_612_736.0)),
            ("100k", Some(100_000.0)),
            ("1e3", Some(1000.0)),
            ("1E3", Some(1000.0)),
            ("2E", Some(2e18)),
            ("-1", Some(-1.0)),
            ("", None),
            ("lots", None),
            ("inf", None),
            ("NaN", None),
            ("1GiB", None),
        ] {
            assert_eq!(number(text), want, "{text}");
        }
    }
}

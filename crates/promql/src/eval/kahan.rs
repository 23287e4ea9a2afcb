//! Sums that lose as little as Prometheus' do: Kahan's summation in Neumaier's form.

/// A sum and what rounding took from it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Kahan {
    pub(crate) sum: f64,
    pub(crate) lost: f64,
}

impl Kahan {
    pub(crate) fn of(sum: f64) -> Self {
        Kahan { sum, lost: 0.0 }
    }

    #[must_use]
    pub(crate) fn plus(self, more: f64) -> Self {
        let sum = self.sum + more;
        let lost = if sum.is_infinite() {
            0.0
        } else if self.sum.abs() >= more.abs() {
            self.lost + ((self.sum - sum) + more)
        } else {
            self.lost + ((more - sum) + self.sum)
        };
        Kahan { sum, lost }
    }

    pub(crate) fn total(self) -> f64 {
        self.sum + self.lost
    }
}

/// A mean that is the sum by the count as long as the sum does not overflow, and is carried on from then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mean {
    sum: Kahan,
    count: f64,
    carried: bool,
}

impl Mean {
    pub(crate) fn of(first: f64) -> Self {
        Mean { sum: Kahan::of(first), count: 1.0, carried: false }
    }

    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1.0;
        if !self.carried {
            let sum = self.sum.plus(value);
            if !sum.sum.is_infinite() {
                self.sum = sum;
                return;
            }
            self.carried = true;
            let before = self.count - 1.0;
            self.sum = Kahan { sum: self.sum.sum / before, lost: self.sum.lost / before };
        }
        let weight = (self.count - 1.0) / self.count;
        let scaled = Kahan { sum: weight * self.sum.sum, lost: weight * self.sum.lost };
        self.sum = scaled.plus(value / self.count);
    }

    pub(crate) fn value(self) -> f64 {
        if self.carried {
            return self.sum.total();
        }
        self.sum.sum / self.count + self.sum.lost / self.count
    }
}

/// The quantile of some values, which are sorted for it; NaN is the smallest of all.
pub(crate) fn quantile(q: f64, values: &mut [f64]) -> f64 {
    if values.is_empty() || q.is_nan() {
        return f64::NAN;
    }
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    values.sort_by(|one, other| nan_first(*one, *other));
    #[expect(clippy::cast_precision_loss, reason = "a position among samples")]
    let last = values.len().saturating_sub(1) as f64;
    let rank = q * last;
    let below = rank.floor().max(0.0);
    let above = (below + 1.0).min(last);
    let weight = rank - rank.floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a position among samples")]
    let at = |index: f64| values.get(index as usize).copied().unwrap_or(f64::NAN);
    at(below) * (1.0 - weight) + at(above) * weight
}

/// The order of numbers, with NaN before all.
pub(crate) fn nan_first(one: f64, other: f64) -> std::cmp::Ordering {
    other.is_nan().cmp(&one.is_nan()).then(one.partial_cmp(&other).unwrap_or(std::cmp::Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_large_ones() {
        let sum = [1.0, 1e100, 1.0, -1e100].into_iter().fold(Kahan::default(), Kahan::plus);
        assert!((sum.total() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_mean_survives_the_overflow_of_its_sum() {
        let mut mean = Mean::of(9e307);
        mean.add(9e307);
        mean.add(9e307);
        assert!((mean.value() / 9e307 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn quantiles_weigh_their_neighbours() {
        assert!((quantile(0.75, &mut [4.0, 0.0, 1.0]) - 2.5).abs() < 1e-12);
        assert!(quantile(0.2, &mut [0.0, 1.0, f64::NAN]).is_nan());
        assert!(quantile(2.0, &mut [1.0]).is_infinite());
    }
}

//! Sizes and costs between a least and a most, which never overflow.

/// The least and the most that something costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostRange {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

/// The least and the most elements that something has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl CostRange {
    /// A cost that is known.
    pub const fn fixed(cost: u64) -> Self {
        CostRange { min: cost, max: cost }
    }

    /// The sum.
    #[must_use]
    pub const fn plus(self, other: CostRange) -> Self {
        CostRange { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) const fn times(self, other: CostRange) -> Self {
        CostRange { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        CostRange { min: scale(self.min, factor), max: scale(self.max, factor) }
    }

    pub(super) fn union(self, other: CostRange) -> Self {
        CostRange { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl Size {
    pub(super) const UNKNOWN: Size = Size { min: 0, max: u64::MAX };

    pub(super) const fn fixed(size: u64) -> Self {
        Size { min: size, max: size }
    }

    pub(super) const fn plus(self, other: Size) -> Self {
        Size { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) const fn times(self, other: Size) -> Self {
        Size { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) const fn times_cost(self, cost: CostRange) -> CostRange {
        CostRange { min: self.min.saturating_mul(cost.min), max: self.max.saturating_mul(cost.max) }
    }

    pub(super) fn scaled(self, factor: f64) -> CostRange {
        CostRange { min: scale(self.min, factor), max: scale(self.max, factor) }
    }

    pub(super) fn union(self, other: Size) -> Self {
        Size { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// A number times a factor, rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as in cel-go"
)]
fn scale(number: u64, factor: f64) -> u64 {
    // What exceeds the range of the type becomes its largest value.
    (number as f64 * factor).ceil() as u64
}

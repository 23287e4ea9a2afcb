//! A cap as documentation and messages show it.

/// One cap: its name, what it bounds, what the largest public product needs, and its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap {
    /// The field of the limits.
    pub name: &'static str,
    /// What is counted.
    pub what: &'static str,
    /// What the public graph-data of OpenShift needs; 0 if it has nothing of the kind.
    pub needs: u64,
    /// The default.
    pub default: u64,
}

/// A cap that something is above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {limit} {what} (the cap `{cap}`)")]
pub struct CapExceeded {
    /// The name of the cap.
    pub cap: &'static str,
    /// Its value.
    pub limit: u64,
    /// What is counted.
    pub what: &'static str,
}

impl CapExceeded {
    /// The first of some caps whose count is above it: name, count, value, and what is counted.
    pub fn first<const N: usize>(counts: [(&'static str, usize, usize, &'static str); N]) -> Option<Self> {
        let above = counts.into_iter().find(|(_, count, limit, _)| count > limit);
        above.map(|(cap, _, limit, what)| CapExceeded { cap, limit: limit as u64, what })
    }
}

/// Declares a struct of caps: its fields, their documentation and defaults, and the list of all of them.
macro_rules! caps {
    ($(#[$head:meta])* $name:ident { $($(#[doc = $what:literal])+ $field:ident: $type:ty = $default:expr, needs $needs:expr;)* }) => {
        $(#[$head])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $what])+ pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl $name {
            /// The same caps with another value for the cap of this name; unchanged if no cap has it.
            #[must_use]
            pub fn with(mut self, name: &str, value: u64) -> Self {
                $(if name == stringify!($field) {
                    self.$field = <$type>::try_from(value).unwrap_or(<$type>::MAX);
                })*
                self
            }

            /// Every cap, in order.
            pub const CAPS: &'static [crate::limits::Cap] = &[$(crate::limits::Cap {
                name: stringify!($field),
                what: concat!($($what),+),
                needs: $needs,
                // With the type of the field: without one, a large number is an `i32` and wraps around.
                default: {
                    let value: $type = $default;
                    value as u64
                },
            },)*];
        }
    };
}

pub(crate) use caps;

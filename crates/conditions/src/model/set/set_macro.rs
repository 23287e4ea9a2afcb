//! `condition_set!`, the one place where a controller says which conditions it owns.
//!
//! It writes three types: the set, an enum of the always-present conditions and an enum of the problems. The summary
//! and the pair Reconciling and Stalled have no variant, so no program can set them by hand.

/// Declares the conditions a controller owns.
///
/// ```
/// clearway_conditions::condition_set! {
///     /// What a database says of itself.
///     pub set Database {
///         summary: Ready,
///         progress: true,
///         retired: ["Healthy"],
///     }
///     /// Always present.
///     pub always DatabaseCondition {
///         /// The schema is the one the spec asks for.
///         SchemaApplied: dependent,
///         /// Clients can connect.
///         Reachable: dependent,
///         /// The licence is valid for another month.
///         LicenceValid: warning,
///         /// Nobody is connected.
///         Idle: info,
///         /// For clients that know no better than to read a False.
///         Failing: negative,
///     }
///     /// Present while something is wrong.
///     pub problems DatabaseProblem {
///         /// The last backup is too old.
///         BackupOverdue = "example.com/BackupOverdue": problem,
///         /// Absent means True.
///         Upgradeable: problem_while_false,
///     }
/// }
/// # fn main() {}
/// ```
///
/// The word after the colon is a constructor of [`Declaration`](crate::model::Declaration): always-present conditions
/// are `dependent` (severity "", counted in the summary), `warning`, `info` or `negative`; problems are `problem`,
/// `problem_warning` or `problem_while_false`. The type of a condition is the name of its variant unless a literal is
/// given. `summary` is `Ready`, `Succeeded` or `Omitted`; `progress` and `retired` may be left out, and so may the
/// problems. What makes no sense does not compile:
///
/// A negative condition that is a dependent of the summary:
/// ```compile_fail
/// # use clearway_conditions::condition_set;
/// condition_set! {
///     set S { summary: Ready }
///     always A { Up: dependent, }
///     problems P { Broken: dependent, }
/// }
/// # fn main() {}
/// ```
/// A summary without dependents, which nothing could lower:
/// ```compile_fail
/// # use clearway_conditions::condition_set;
/// condition_set! {
///     set S { summary: Ready }
///     always A { Idle: info, }
/// }
/// # fn main() {}
/// ```
/// A summary that is declared, and so could be set by hand:
/// ```compile_fail
/// # use clearway_conditions::condition_set;
/// condition_set! {
///     set S { summary: Ready }
///     always A { Up: dependent, Ready: dependent, }
/// }
/// # fn main() {}
/// ```
/// Stalled as a condition like any other, so that it could be raised while Reconciling:
/// ```compile_fail
/// # use clearway_conditions::condition_set;
/// condition_set! {
///     set S { summary: Ready }
///     always A { Up: dependent, }
///     problems P { Stalled: problem, }
/// }
/// # fn main() {}
/// ```
/// Two conditions of one type:
/// ```compile_fail
/// # use clearway_conditions::condition_set;
/// condition_set! {
///     set S { summary: Succeeded }
///     always A { Up: dependent, Also = "Up": info, }
/// }
/// # fn main() {}
/// ```
/// The set of these examples is right but for the one thing each has wrong:
/// ```
/// # use clearway_conditions::condition_set;
/// condition_set! {
///     set S { summary: Ready }
///     always A { Up: dependent, Idle: info, Also = "Down": info, }
///     problems P { Broken: problem, }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! condition_set {
    (
        $(#[$set_meta:meta])*
        $vis:vis set $set:ident {
            summary: $summary:ident
            $(, progress: $progress:literal)?
            $(, retired: [$($retired:literal),* $(,)?])?
            $(,)?
        }
        $(#[$always_meta:meta])*
        $always_vis:vis always $always:ident {
            $($(#[$cond_meta:meta])* $cond:ident $(= $cond_type:literal)? : $cond_kind:ident),* $(,)?
        }
        $(
            $(#[$problem_meta:meta])*
            $problem_vis:vis problems $problems:ident {
                $($(#[$prob_meta:meta])* $prob:ident $(= $prob_type:literal)? : $prob_kind:ident),* $(,)?
            }
        )?
    ) => {
        $(#[$set_meta])*
        #[derive(Debug)]
        $vis enum $set {}

        impl $crate::model::ConditionSet for $set {
            type Always = $always;
            type Problem = $crate::condition_set!(@problems $($problems)?);
            const SUMMARY: $crate::model::Summary = $crate::model::Summary::$summary;
            const PROGRESS: bool = false $(|| $progress)?;
            const RETIRED: &'static [$crate::model::ConditionType] =
                &[$($($crate::condition_type!($retired)),*)?];
        }

        $crate::condition_set!(@keys $(#[$always_meta])* $always_vis $always {
            $($(#[$cond_meta])* $cond [$($cond_type)?] $cond_kind)*
        });
        $(
            $crate::condition_set!(@keys $(#[$problem_meta])* $problem_vis $problems {
                $($(#[$prob_meta])* $prob [$($prob_type)?] $prob_kind)*
            });
        )?
        const _: () = $crate::model::check_set::<$set>();
    };
    (@problems $problems:ident) => { $problems };
    (@problems) => { $crate::model::NoProblems };
    (@keys $(#[$meta:meta])* $vis:vis $name:ident {
        $($(#[$key_meta:meta])* $key:ident [$($type:literal)?] $kind:ident)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$key_meta])* $key,)* }

        impl $crate::model::ConditionKey for $name {
            const DECLARED: &'static [$crate::model::Declaration] = &[
                $($crate::model::Declaration::$kind($crate::condition_set!(@type $key $($type)?)),)*
            ];
            const KEYS: &'static [Self] = &[$(Self::$key,)*];
        }
    };
    (@type $key:ident $type:literal) => { $crate::condition_type!($type) };
    (@type $key:ident) => { $crate::condition_type!(stringify!($key)) };
}

//! The functions that CEL, its extensions and Kubernetes declare: names, signatures, and what carries them out.
//!
//! A library is a table of overloads. An environment is made of the libraries that it has; a function that none of them
//! declares is refused when an expression is loaded.

mod kubernetes;
mod libraries;
mod signature;
mod standard;

use std::borrow::Cow;

use crate::types::{Named, Type, TypeKind, TypeTable};

pub(crate) use libraries::{describe, library};
pub(crate) use signature::read_type;

/// An overload as it is declared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declaration {
    pub(crate) id: &'static str,
    pub(crate) function: &'static str,
    /// Whether it is called on its first parameter.
    pub(crate) member: bool,
    pub(crate) parameters: &'static [&'static str],
    pub(crate) result: &'static str,
    pub(crate) op: Op,
}

/// A function, `name(…)`.
const fn global(
    id: &'static str,
    function: &'static str,
    parameters: &'static [&'static str],
    result: &'static str,
    op: Op,
) -> Declaration {
    Declaration { id, function, member: false, parameters, result, op }
}

/// A method, `first.name(…)`.
const fn member(
    id: &'static str,
    function: &'static str,
    parameters: &'static [&'static str],
    result: &'static str,
    op: Op,
) -> Declaration {
    Declaration { id, function, member: true, parameters, result, op }
}

/// Which functions belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Library {
    Standard,
    /// Orders between ints, uints and doubles.
    CrossTypeOrder,
    Optional,
    /// `first`, `last`, `unwrap` and `unwrapOpt`.
    OptionalLists,
    /// Strings before Kubernetes 1.29.
    Strings,
    /// `format` and `strings.quote`.
    StringFormat,
    StringReverse,
    Sets,
    Lists,
    TwoVariables,
    Math,
    Encoders,
    KubernetesLists,
    Regex,
    Urls,
    Quantity,
    Ip,
    Cidr,
    Format,
    Semver,
}

/// What carries out a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Nothing: the function is only declared.
    Undefined,
    Conditional,
    Not,
    Negate,
    NotStrictlyFalse,
    Equal,
    NotEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Index,
    OptionalIndex,
    Size,
    TypeOf,
    ToBool,
    ToBytes,
    ToDouble,
    ToDuration,
    ToDyn,
    ToInt,
    ToString,
    ToTimestamp,
    ToUint,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    Time(TimePart),
    OptionalOf,
    OptionalOfNonZero,
    OptionalNone,
    OptionalValue,
    OptionalHasValue,
    OptionalOr,
    OptionalOrValue,
    First,
    Last,
    Unwrap,
    CharAt,
    IndexOf,
    LastIndexOf,
    LowerAscii,
    UpperAscii,
    Replace,
    Split,
    Substring,
    Trim,
    FormatText,
    Quote,
    Join,
    Reverse,
    SetsContains,
    SetsEquivalent,
    SetsIntersects,
    Slice,
    Flatten,
    Sort,
    SortByKeys,
    Distinct,
    ListRange,
    MapInsert,
    IsSorted,
    Sum,
    Min,
    Max,
    Find,
    FindAll,
    Url,
    IsUrl,
    UrlPart(UrlPart),
    Quantity,
    IsQuantity,
    Sign,
    IsGreaterThan,
    IsLessThan,
    CompareTo,
    AsApproximateFloat,
    AsInteger,
    IsInteger,
    QuantityAdd,
    QuantitySub,
    Ip,
    IsIp,
    IpIsCanonical,
    IpFamily,
    IpIs(IpClass),
    Cidr,
    IsCidr,
    ContainsIp,
    ContainsCidr,
    CidrIp,
    Masked,
    PrefixLength,
    FormatNamed,
    FormatConstant(&'static str),
    FormatValidate,
    Semver,
    IsSemver,
    SemverPart(SemverPart),
    MathMin,
    MathMax,
    MathRound(Rounding),
    MathIs(FloatClass),
    MathAbs,
    MathSign,
    MathSqrt,
    MathBits(BitOp),
    Base64Decode,
    Base64Encode,
}

/// Parts of a timestamp, some of them also of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimePart {
    FullYear,
    Month,
    DayOfYear,
    DayOfMonth,
    Date,
    DayOfWeek,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

/// Parts of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlPart {
    Scheme,
    Host,
    Hostname,
    Port,
    EscapedPath,
    Query,
}

/// What an IP address may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IpClass {
    Unspecified,
    Loopback,
    LinkLocalMulticast,
    LinkLocalUnicast,
    GlobalUnicast,
}

/// Parts of a semantic version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SemverPart {
    Major,
    Minor,
    Patch,
}

/// Ways of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    Up,
    Down,
    Nearest,
    TowardsZero,
}

/// What a floating-point number may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FloatClass {
    Infinite,
    NotANumber,
    Finite,
}

/// Operations on bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BitOp {
    And,
    Or,
    Xor,
    Not,
    ShiftLeft,
    ShiftRight,
}

/// An overload with its types.
#[derive(Debug, Clone)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) member: bool,
    pub(crate) parameters: Vec<Type>,
    pub(crate) result: Type,
    /// How many type parameters the signature has.
    pub(crate) type_parameters: u8,
    pub(crate) op: Op,
}

/// A function with all overloads that an environment has of it.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) name: Cow<'static, str>,
    pub(crate) overloads: Vec<Overload>,
}

impl Declaration {
    /// The overload with its types in a table.
    pub(crate) fn overload(&self, types: &mut TypeTable) -> Overload {
        let mut parameters = signature::Parameters::default();
        let types_of: Vec<Type> = self.parameters.iter().map(|text| read_type(text, types, &mut parameters)).collect();
        let result = read_type(self.result, types, &mut parameters);
        Overload {
            id: self.id,
            member: self.member,
            parameters: types_of,
            result,
            type_parameters: parameters.count(),
            op: self.op,
        }
    }

    /// How it is written, such as `list(T).slice(int, int) -> list(T)`.
    pub(crate) fn show(&self) -> String {
        let (receiver, parameters) = match self.parameters.split_first() {
            Some((first, rest)) if self.member => (format!("{first}."), rest),
            _ => (String::new(), self.parameters),
        };
        format!("{receiver}{}({}) -> {}", self.function, parameters.join(", "), self.result)
    }
}

impl Named {
    /// The name of the type in the tables of this module.
    const fn keyword(self) -> &'static str {
        match self {
            Named::Url => "url",
            Named::Quantity => "quantity",
            Named::Semver => "semver",
            Named::Format => "format",
            Named::Ip => "ip",
            Named::Cidr => "cidr",
        }
    }

    const ALL: [Named; 6] = [Named::Url, Named::Quantity, Named::Semver, Named::Format, Named::Ip, Named::Cidr];

    fn of(keyword: &str) -> Option<TypeKind> {
        Named::ALL.into_iter().find(|named| named.keyword() == keyword).map(TypeKind::Named)
    }
}

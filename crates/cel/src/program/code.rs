//! What a program consists of: steps for a machine with a stack.

use crate::error::ErrorClass;
use crate::functions::Op;
use crate::syntax::span::Span;
use crate::tree::TreeId;
use crate::types::TypeKind;
use crate::value::Value;
use crate::value::library::LibraryValue;
use crate::value::pattern::Pattern;

/// One step. Places in the code are labels until the program is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Instr {
    /// Pushes a constant.
    Const(u32),
    /// Pushes a variable of the environment, and charges so much.
    Global {
        slot: u32,
        charge: u8,
    },
    /// Pushes a variable of a loop.
    Local {
        slot: u32,
        charge: u8,
    },
    /// Moves the accumulator of a loop to the stack: nobody needs it before the step stores it again.
    Take(u32),
    /// Pushes a value that has a name, and evaluates it before if nobody has asked for it yet.
    Lazy {
        slot: u32,
        init: u32,
        charge: u8,
    },
    /// The value that `Lazy` waits for is on the stack.
    LazyDone(u32),
    /// What is on the stack begins a chain of selections.
    ChainStart,
    Field {
        name: u32,
        mode: FieldMode,
    },
    /// An index that is a constant.
    ConstIndex {
        constant: u32,
        optional: bool,
    },
    /// An index that is on the stack.
    Index {
        optional: bool,
    },
    /// Leaves a chain that is decided.
    JumpIfDone(u32),
    /// The chain is complete; the charge may be that of a presence test, which gives one back.
    ChainEnd {
        charge: i8,
    },
    /// A term of `&&` is on the stack, above what the terms before it gave.
    And {
        first: bool,
        end: u32,
    },
    Or {
        first: bool,
        end: u32,
    },
    /// The condition is on the stack.
    Branch {
        otherwise: u32,
        end: u32,
    },
    Jump(u32),
    /// Leaves a call or literal if an argument has no value, with so many arguments below it.
    Bail {
        below: u16,
        to: u32,
    },
    List {
        count: u32,
        flags: u32,
    },
    Map {
        count: u32,
        flags: u32,
    },
    Charge(u8),
    Call(u32),
    /// Whether the value on the stack is one of a set of constants.
    Member(u32),
    /// Leaves `or` and `orValue` if the optional has a value.
    OptionalOr {
        end: u32,
        value: bool,
    },
    /// The range of a loop is on the stack.
    LoopEnter {
        end: u32,
        two: bool,
    },
    /// Takes the next element.
    LoopNext {
        slot: u32,
        second: Option<u32>,
        exit: u32,
    },
    /// The condition of a loop is on the stack.
    LoopTest(u32),
    LoopLeave,
    Store(u32),
    /// A value with a name is not evaluated yet.
    Forget(u32),
    Fail(ErrorClass),
    /// A part begins; only in programs that explain.
    Mark,
    /// A part is complete; only in programs that explain.
    Note {
        part: TreeId,
        marked: bool,
    },
    Return,
}

/// What is asked of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldMode {
    Value,
    Optional,
    Test,
}

/// A call of a function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallInfo {
    pub(crate) op: Op,
    pub(crate) arguments: u32,
    pub(crate) cost: CallCost,
    pub(crate) guard: Guard,
    /// The type of the result as far as it is known.
    pub(crate) result: TypeKind,
    /// The compiled pattern, if it is a constant.
    pub(crate) pattern: Option<u32>,
}

/// What the first argument must be, where functions of several types have one name and the check decided for one: a check
/// decides for a type of which nothing is known, and the value may be of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    None,
    List,
    Text,
    Quantity,
    Version,
}

impl Guard {
    pub(super) fn of(op: Op, overload: Option<&str>) -> Guard {
        let several = matches!(
            op,
            Op::IndexOf | Op::LastIndexOf | Op::Reverse | Op::IsGreaterThan | Op::IsLessThan | Op::CompareTo
        );
        match overload.and_then(|overload| overload.split('_').next()) {
            Some("list") if several => Guard::List,
            Some("string") if several => Guard::Text,
            Some("quantity") if several => Guard::Quantity,
            Some("semver") if several => Guard::Version,
            _ => Guard::None,
        }
    }

    /// Whether a value is of the type.
    pub(crate) fn admits(self, value: &Value<'_>) -> bool {
        match self {
            Guard::None => true,
            Guard::List => matches!(value, Value::List(_)),
            Guard::Text => matches!(value, Value::String(_)),
            Guard::Quantity => matches!(value, Value::Library(LibraryValue::Quantity(..))),
            Guard::Version => matches!(value, Value::Library(LibraryValue::Semver(_))),
        }
    }
}

/// How a call is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallCost {
    One,
    /// A tenth of the first argument.
    Tenth,
    /// A fifth of the first argument.
    Fifth,
    /// A fifth of the result.
    FifthOfResult,
    /// A tenth of the smaller argument.
    TenthOfSmaller,
    /// The same, or one for values of libraries.
    Equality,
    /// A tenth of both arguments.
    TenthOfBoth,
    /// The size of the second argument.
    Elements,
    Regex,
    Contains,
    /// Everything in the first argument.
    Traversal,
    ContainsIp {
        parse: bool,
    },
    ContainsCidr {
        parse: bool,
    },
    Validate,
    /// The size of the resulting list.
    ListResult,
    Flatten,
    /// Every element with every other.
    SelfCompare {
        argument: u8,
    },
    Sets {
        factor: u8,
    },
}

/// The code with everything that it refers to.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) steps: Vec<Instr>,
    pub(crate) spans: Vec<Span>,
    pub(crate) constants: Vec<Value<'static>>,
    pub(crate) calls: Vec<CallInfo>,
    pub(crate) names: Vec<FieldName>,
    pub(crate) patterns: Vec<Pattern>,
    /// Which elements of literals are optional.
    pub(crate) flags: Vec<bool>,
    /// The variables of the environment that are used, by their numbers.
    pub(crate) globals: Vec<u32>,
    pub(crate) slots: usize,
}

/// Bytes of the compiled patterns of one program.
const PATTERNS: usize = 1 << 20;

impl Code {
    /// Whether one more pattern may be kept.
    pub(crate) fn has_room_for(&self, pattern: &Pattern) -> bool {
        self.pattern_memory().saturating_add(pattern.memory()) <= PATTERNS
    }

    fn pattern_memory(&self) -> usize {
        self.patterns.iter().map(Pattern::memory).fold(0, usize::saturating_add)
    }

    /// Bytes of memory that the code takes, at most, without what constants have allocated.
    pub(crate) fn memory(&self) -> usize {
        let text = |text: &str| text.len().saturating_add(ALLOCATION);
        let name = |name: &FieldName| text(&name.name).saturating_add(name.unescaped.as_deref().map_or(0, text));
        [
            list_memory(&self.steps),
            list_memory(&self.spans),
            list_memory(&self.constants),
            list_memory(&self.calls),
            list_memory(&self.names),
            self.names.iter().map(name).fold(0, usize::saturating_add),
            list_memory(&self.patterns),
            self.pattern_memory(),
            list_memory(&self.flags),
            list_memory(&self.globals),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }
}

/// What an allocation takes beside its bytes.
const ALLOCATION: usize = 32;

/// Bytes of memory that a list takes, without what its elements have allocated.
pub(crate) fn list_memory<T>(list: &Vec<T>) -> usize {
    list.capacity().saturating_mul(size_of::<T>()).saturating_add(ALLOCATION)
}

/// The name of a field.
#[derive(Debug)]
pub(crate) struct FieldName {
    pub(crate) name: Box<str>,
    /// The name in the data of an object, if the name is a valid one there.
    pub(crate) unescaped: Option<Box<str>>,
}

//! Which libraries, macros and rules an environment has.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::{FunctionHelp, KubernetesVersion};
use crate::functions::{Declaration, Function, Library, Overload, describe, library};
use crate::types::{Type, TypeKind, TypeTable};

/// The libraries of an environment, put together.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) types: Arc<TypeTable>,
    pub(crate) functions: Vec<Function>,
    index: HashMap<Cow<'static, str>, u32>,
    declarations: Vec<&'static Declaration>,
    /// Names of types, as values.
    pub(crate) type_names: HashMap<&'static str, Type>,
    pub(crate) macros: Macros,
    pub(crate) rules: Rules,
}

/// Which macros there are, beyond those that always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a macro that an environment has or has not")]
pub(crate) struct Macros {
    /// `existsOne` with one variable.
    pub(crate) exists_one: bool,
    /// Macros with two variables.
    pub(crate) two_variables: bool,
    /// `optMap` and `optFlatMap`, and the syntax of optionals.
    pub(crate) optional: bool,
    pub(crate) sort_by: bool,
    /// `cel.bind` and `cel.block`.
    pub(crate) bind: bool,
    /// `math.greatest` and `math.least`.
    pub(crate) math: bool,
}

/// Rules that differ between the specification and Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule that an environment has or has not")]
pub(crate) struct Rules {
    /// Elements of list and map literals have exactly one type, and constant formats fit their arguments.
    pub(crate) homogeneous: bool,
    /// Constant durations, times and patterns are valid.
    pub(crate) validate_literals: bool,
    /// Conversions of constants that fail refuse the expression.
    pub(crate) refuse_bad_constants: bool,
    /// Names of fields may stand between backticks.
    pub(crate) quoted_names: bool,
    /// Reserved words are names of fields of objects as they are.
    pub(crate) keywords_as_fields: bool,
    /// The specification's behaviour at run time, where cel-go differs: presence on values without fields is an error,
    /// keys of map literals are unique and of four types, milliseconds of durations are those within a second.
    pub(crate) by_specification: bool,
}

impl Base {
    fn new(libraries: &[Library], macros: Macros, rules: Rules) -> Self {
        let mut types = TypeTable::new();
        let mut functions: Vec<Function> = Vec::new();
        let mut index: HashMap<Cow<'static, str>, u32> = HashMap::new();
        let mut declarations = Vec::new();
        for declaration in libraries.iter().flat_map(|one| library(*one)) {
            let overload = declaration.overload(&mut types);
            declarations.push(declaration);
            let next = u32::try_from(functions.len()).unwrap_or(u32::MAX);
            let at = *index.entry(declaration.function.into()).or_insert(next);
            match functions.get_mut(at as usize) {
                Some(function) => function.overloads.push(overload),
                None => functions.push(Function { name: declaration.function.into(), overloads: vec![overload] }),
            }
        }
        let list = types.list(Type::DYN);
        let map = types.map(Type::DYN, Type::DYN);
        let of_types = types.intern(TypeKind::Type(Type::DYN));
        let mut type_names: HashMap<&'static str, Type> = [
            ("bool", Type::BOOL),
            ("bytes", Type::BYTES),
            ("double", Type::DOUBLE),
            ("google.protobuf.Duration", Type::DURATION),
            ("int", Type::INT),
            ("list", list),
            ("map", map),
            ("null_type", Type::NULL),
            ("string", Type::STRING),
            ("google.protobuf.Timestamp", Type::TIMESTAMP),
            ("type", of_types),
            ("uint", Type::UINT),
        ]
        .into();
        if macros.optional {
            type_names.insert("optional_type", types.optional(Type::DYN));
        }
        for (name, of, needed) in
            [("net.IP", crate::types::Named::Ip, Library::Ip), ("net.CIDR", crate::types::Named::Cidr, Library::Cidr)]
        {
            if libraries.contains(&needed) {
                type_names.insert(name, types.intern(TypeKind::Named(of)));
            }
        }
        Base { types: Arc::new(types), functions, index, declarations, type_names, macros, rules }
    }

    /// The number of a function.
    pub(crate) fn function(&self, name: &str) -> Option<u32> {
        self.index.get(name).copied()
    }

    /// The same with one more function, in place of one of the same name.
    pub(super) fn with_function(&self, name: &str, overloads: Vec<Overload>) -> Base {
        let mut base = self.clone();
        let number = u32::try_from(base.functions.len()).unwrap_or(u32::MAX);
        base.functions.push(Function { name: Cow::Owned(name.to_owned()), overloads });
        base.index.insert(Cow::Owned(name.to_owned()), number);
        base
    }

    pub(crate) fn explain(&self, name: &str) -> Option<FunctionHelp> {
        let signatures: Vec<String> = self
            .declarations
            .iter()
            .filter(|declaration| declaration.function == name)
            .map(|declaration| declaration.show())
            .chain(self.macro_forms(name))
            .collect();
        if signatures.is_empty() {
            return None;
        }
        let fallback = if name.starts_with("format.") { "A format of Kubernetes." } else { "An operator of CEL." };
        Some(FunctionHelp { name: name.to_owned(), description: describe(name).unwrap_or(fallback), signatures })
    }

    /// How a macro is called here; nothing if there is none of that name.
    fn macro_forms(&self, name: &str) -> Vec<String> {
        let forms = MACROS.iter().filter(|form| form.name == name && (form.available)(&self.macros));
        forms.map(|form| format!("{} (macro)", form.form)).collect()
    }

    pub(crate) fn function_names(&self) -> Vec<&'static str> {
        let functions = self.declarations.iter().map(|declaration| declaration.function);
        let macros = MACROS.iter().filter(|form| (form.available)(&self.macros)).map(|form| form.name);
        // Operators and helpers of macros have names that no expression can have.
        let mut names: Vec<&str> =
            functions.chain(macros).filter(|name| !name.contains(['@', '_']) || *name == "exists_one").collect();
        names.retain(|name| name.starts_with(|char: char| char.is_ascii_alphabetic()));
        names.sort_unstable();
        names.dedup();
        names
    }
}

struct MacroForm {
    name: &'static str,
    form: &'static str,
    available: fn(&Macros) -> bool,
}

const MACROS: &[MacroForm] = &[
    MacroForm { name: "has", form: "has(e.field) -> bool", available: |_| true },
    MacroForm { name: "all", form: "range.all(x, condition) -> bool", available: |_| true },
    MacroForm { name: "exists", form: "range.exists(x, condition) -> bool", available: |_| true },
    MacroForm { name: "exists_one", form: "range.exists_one(x, condition) -> bool", available: |_| true },
    MacroForm {
        name: "existsOne",
        form: "range.existsOne(x, condition) -> bool",
        available: |macros| macros.exists_one,
    },
    MacroForm { name: "map", form: "range.map(x, value) -> list", available: |_| true },
    MacroForm { name: "map", form: "range.map(x, condition, value) -> list", available: |_| true },
    MacroForm { name: "filter", form: "range.filter(x, condition) -> list", available: |_| true },
    MacroForm { name: "all", form: "range.all(k, v, condition) -> bool", available: |macros| macros.two_variables },
    MacroForm {
        name: "exists",
        form: "range.exists(k, v, condition) -> bool",
        available: |macros| macros.two_variables,
    },
    MacroForm {
        name: "exists_one",
        form: "range.exists_one(k, v, condition) -> bool",
        available: |macros| macros.two_variables,
    },
    MacroForm {
        name: "existsOne",
        form: "range.existsOne(k, v, condition) -> bool",
        available: |macros| macros.two_variables,
    },
    MacroForm {
        name: "transformList",
        form: "range.transformList(k, v, [condition,] value) -> list",
        available: |macros| macros.two_variables,
    },
    MacroForm {
        name: "transformMap",
        form: "range.transformMap(k, v, [condition,] value) -> map",
        available: |macros| macros.two_variables,
    },
    MacroForm {
        name: "transformMapEntry",
        form: "range.transformMapEntry(k, v, [condition,] map) -> map",
        available: |macros| macros.two_variables,
    },
    MacroForm { name: "optMap", form: "optional.optMap(x, value) -> optional", available: |macros| macros.optional },
    MacroForm {
        name: "optFlatMap",
        form: "optional.optFlatMap(x, optional) -> optional",
        available: |macros| macros.optional,
    },
    MacroForm { name: "sortBy", form: "list.sortBy(x, key) -> list", available: |macros| macros.sort_by },
    MacroForm { name: "cel.bind", form: "cel.bind(x, value, result)", available: |macros| macros.bind },
    MacroForm { name: "math.greatest", form: "math.greatest(number, …)", available: |macros| macros.math },
    MacroForm { name: "math.least", form: "math.least(number, …)", available: |macros| macros.math },
];

/// The standard environment.
pub(super) fn standard() -> Arc<Base> {
    static BASE: LazyLock<Arc<Base>> = LazyLock::new(|| {
        let libraries = [
            Library::Standard,
            Library::CrossTypeOrder,
            Library::Optional,
            Library::OptionalLists,
            Library::Strings,
            Library::StringFormat,
            Library::StringReverse,
            Library::Sets,
            Library::Lists,
            Library::TwoVariables,
            Library::Math,
            Library::Encoders,
            Library::Ip,
            Library::Cidr,
        ];
        let macros =
            Macros { exists_one: true, two_variables: true, optional: true, sort_by: true, bind: true, math: true };
        let rules = Rules {
            homogeneous: false,
            validate_literals: false,
            refuse_bad_constants: false,
            quoted_names: true,
            keywords_as_fields: true,
            by_specification: true,
        };
        Arc::new(Base::new(&libraries, macros, rules))
    });
    Arc::clone(&BASE)
}

/// The environment of a version of Kubernetes. Versions that have the same libraries share one.
pub(super) fn kubernetes(version: KubernetesVersion) -> Arc<Base> {
    static BASES: LazyLock<Mutex<BTreeMap<u32, Arc<Base>>>> = LazyLock::new(Mutex::default);
    let minor = version.minor.clamp(23, 36);
    let mut bases = BASES.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(bases.entry(minor).or_insert_with(|| Arc::new(kubernetes_base(minor))))
}

fn kubernetes_base(minor: u32) -> Base {
    let since = |introduced: u32| minor >= introduced;
    let mut libraries =
        vec![Library::Standard, Library::Urls, Library::Regex, Library::KubernetesLists, Library::Strings];
    for (introduced, more) in [
        (28, Library::CrossTypeOrder),
        (28, Library::Optional),
        (28, Library::Quantity),
        (29, Library::StringFormat),
        (29, Library::Sets),
        (30, Library::Ip),
        (30, Library::Cidr),
        (31, Library::Format),
        (32, Library::TwoVariables),
        (33, Library::OptionalLists),
        (33, Library::Semver),
        (34, Library::Lists),
    ] {
        if since(introduced) {
            libraries.push(more);
        }
    }
    let macros = Macros {
        exists_one: false,
        two_variables: since(32),
        optional: since(28),
        sort_by: since(34),
        bind: false,
        math: false,
    };
    let rules = Rules {
        homogeneous: true,
        validate_literals: since(29),
        refuse_bad_constants: true,
        quoted_names: false,
        keywords_as_fields: since(31),
        by_specification: false,
    };
    Base::new(&libraries, macros, rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_that_can_be_written_is_described() {
        for base in [standard(), kubernetes(KubernetesVersion::LATEST)] {
            for name in base.function_names() {
                let help = base.explain(name).unwrap();
                let described = describe(name).is_some() || name.starts_with("format.");
                assert!(described && !help.signatures.is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn tables_have_no_unknown_types() {
        let dynamic = ["dyn"];
        for base in [standard(), kubernetes(KubernetesVersion::LATEST)] {
            for (declaration, overload) in base.declarations.iter().flat_map(|declaration| {
                let mut types = TypeTable::new();
                let overload = declaration.overload(&mut types);
                declaration.parameters.iter().zip(overload.parameters.clone()).collect::<Vec<_>>()
            }) {
                assert!(overload != Type::DYN || dynamic.contains(declaration), "{declaration}");
            }
        }
    }

    #[test]
    fn older_versions_have_fewer_functions() {
        let has = |minor, name| kubernetes(KubernetesVersion::new(minor)).function(name).is_some();
        assert!(!has(27, "quantity") && has(28, "quantity"));
        assert!(!has(29, "ip") && has(30, "ip"));
        assert!(!has(33, "flatten") && has(34, "flatten"));
        assert!(!has(36, "math.ceil") && !has(36, "base64.encode"));
    }
}

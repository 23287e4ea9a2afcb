//! What an expression may use: variables, functions, macros and the rules they are checked by.
//!
//! An environment is a value. The libraries behind it are put together once for each kind and version, and shared.

mod admission;
mod base;

use std::sync::Arc;

use clearway_schema::Node;

use crate::decl::Decl;
use crate::functions::{Op, Overload};
use crate::types::{Type, TypeKind, TypeTable};

pub(crate) use base::Base;

/// A version of Kubernetes, which decides about libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion {
    /// The number behind `1.`.
    pub minor: u32,
}

impl KubernetesVersion {
    /// The version that this engine is compared with.
    pub const LATEST: KubernetesVersion = KubernetesVersion { minor: 36 };

    /// A version of Kubernetes 1.
    pub const fn new(minor: u32) -> Self {
        KubernetesVersion { minor }
    }
}

/// What the result of an expression must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultType {
    /// Anything.
    Any,
    /// A bool, and not only on evaluation.
    Bool,
    /// A bool, or a value whose type is known on evaluation only, such as a field of a dynamic object.
    BoolOrDyn,
    /// A string, and not only on evaluation.
    String,
}

/// Variables, functions, macros and rules.
#[derive(Debug, Clone)]
pub struct Environment {
    pub(crate) base: Arc<Base>,
    /// The types of this environment beyond those of its libraries.
    pub(crate) types: Arc<TypeTable>,
    pub(crate) variables: Vec<Variable>,
    /// What the types of objects mean.
    pub(crate) decl: Option<Arc<Decl>>,
    pub(crate) policy_variables: Vec<(Box<str>, Type)>,
    pub(crate) container: String,
    pub(crate) result: ResultType,
}

/// A name that has a value on evaluation.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: Box<str>,
    pub(crate) value_type: Type,
    pub(crate) source: VariableSource,
}

/// How the value of a variable is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableSource {
    /// As it is.
    Plain,
    /// By the schema of the environment.
    Schema,
    /// The same, as an optional.
    OptionalSchema,
    /// The variables of a policy, each evaluated on first use.
    Policy,
    /// Known by name only: using it is refused.
    Unsupported,
}

/// How a variable of the standard environment is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclaredType {
    /// Known on evaluation only.
    Dyn,
    /// `null`.
    Null,
    /// A bool.
    Bool,
    /// An integer.
    Int,
    /// An unsigned integer.
    Uint,
    /// A floating-point number.
    Double,
    /// A text.
    String,
    /// Bytes.
    Bytes,
    /// A time.
    Timestamp,
    /// A duration.
    Duration,
    /// A type.
    Type,
    /// A list.
    List(Box<DeclaredType>),
    /// A map.
    Map(Box<DeclaredType>, Box<DeclaredType>),
    /// An optional.
    Optional(Box<DeclaredType>),
}

impl Environment {
    fn with_base(base: Arc<Base>) -> Self {
        let types = Arc::clone(&base.types);
        Environment {
            base,
            types,
            variables: Vec::new(),
            decl: None,
            policy_variables: Vec::new(),
            container: String::new(),
            result: ResultType::Any,
        }
    }

    /// CEL as its specification has it, with the extensions math, bindings, encoders, strings, sets, lists,
    /// two-variable comprehensions, optionals and network addresses. Variables are added by [`Environment::declare`].
    pub fn standard() -> Self {
        Environment::with_base(base::standard())
    }

    /// Rules of a CRD (`x-kubernetes-validations`) at one place of its schema: `self` and `oldSelf`.
    ///
    /// The place is the `root` of a resource or something below; the root has the fields that every resource has. With
    /// `optional_old_self` the rule has it too, and `oldSelf` is an optional.
    pub fn kubernetes_crd(version: KubernetesVersion, schema: &Node, root: bool, optional_old_self: bool) -> Self {
        Environment::of_decl(version, Arc::new(Decl::of_schema(schema, root)), optional_old_self)
    }

    pub(crate) fn of_decl(version: KubernetesVersion, decl: Arc<Decl>, optional_old_self: bool) -> Self {
        let mut environment = Environment::with_base(base::kubernetes(version));
        let mut types = TypeTable::extending(&environment.base.types);
        let own = decl.type_of(&mut types);
        let old = if optional_old_self { types.optional(own) } else { own };
        environment.types = Arc::new(types);
        environment.add("self", own, VariableSource::Schema);
        let source = if optional_old_self { VariableSource::OptionalSchema } else { VariableSource::Schema };
        environment.add("oldSelf", old, source);
        environment.decl = Some(decl);
        environment.result = ResultType::Bool;
        environment
    }

    /// The message of a rule: the same, with a string as its result.
    #[must_use]
    pub fn for_message(mut self) -> Self {
        self.result = ResultType::String;
        self
    }

    /// Expressions of admission policies and webhooks: `object`, `oldObject`, `request`, `namespaceObject`, `params` if
    /// the policy has parameters, and `variables`. Using `authorizer` is refused as unsupported.
    pub fn kubernetes_admission(version: KubernetesVersion, params: bool) -> Self {
        admission::environment(version, params)
    }

    /// The same with one more variable of the policy, which [`crate::Session`] evaluates on first use.
    #[must_use]
    pub fn with_policy_variable(mut self, name: &str, program: &crate::Program) -> Self {
        let mut types = TypeTable::extending(&self.types);
        let value_type = program.result_type_in(&mut types);
        self.types = Arc::new(types);
        self.policy_variables.push((name.into(), value_type));
        self
    }

    /// `Resource` rules of update graphs: `object`, with the libraries of Kubernetes and a bool as result. Objects have no
    /// schema here, so that a rule may be a field of one, unlike in an admission policy.
    pub fn resource_rule() -> Self {
        let mut environment = Environment::with_base(base::kubernetes(KubernetesVersion::LATEST));
        environment.add("object", Type::DYN, VariableSource::Plain);
        environment.result = ResultType::BoolOrDyn;
        environment
    }

    /// The same with another type of result.
    #[must_use]
    pub fn with_result(mut self, result: ResultType) -> Self {
        self.result = result;
        self
    }

    /// The same with one more variable. A name may have dots in it.
    #[must_use]
    pub fn declare(mut self, name: &str, declared: &DeclaredType) -> Self {
        let mut types = TypeTable::extending(&self.types);
        let value_type = declared.type_of(&mut types, 0);
        self.types = Arc::new(types);
        self.variables.retain(|variable| *variable.name != *name);
        self.add(name, value_type, VariableSource::Plain);
        self
    }

    /// The same with a function that has no implementation: calling one fails on evaluation.
    #[must_use]
    pub(crate) fn declare_function(
        mut self,
        name: &str,
        overloads: &[(bool, Vec<DeclaredType>, DeclaredType)],
    ) -> Self {
        let mut types = TypeTable::extending(&self.types);
        let declared: Vec<Overload> = overloads
            .iter()
            .map(|(member, parameters, result)| Overload {
                id: "declared",
                member: *member,
                parameters: parameters.iter().map(|parameter| parameter.type_of(&mut types, 0)).collect(),
                result: result.type_of(&mut types, 0),
                type_parameters: 0,
                op: Op::Undefined,
            })
            .collect();
        self.types = Arc::new(types);
        self.base = Arc::new(self.base.with_function(name, declared));
        self
    }

    /// The same with a namespace in which names are looked up first.
    #[must_use]
    pub fn in_container(mut self, container: &str) -> Self {
        container.clone_into(&mut self.container);
        self
    }

    pub(crate) fn add(&mut self, name: &str, value_type: Type, source: VariableSource) {
        self.variables.push(Variable { name: name.into(), value_type, source });
    }

    /// The names of the variables.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| &*variable.name)
    }

    /// The signatures of a function or macro in this environment, with what it does; nothing if it has none.
    pub fn explain_function(&self, name: &str) -> Option<FunctionHelp> {
        self.base.explain(name)
    }

    /// The names of all functions and macros that an expression may use here.
    pub fn function_names(&self) -> Vec<&'static str> {
        self.base.function_names()
    }
}

/// What is known of a function or macro.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionHelp {
    /// The name.
    pub name: String,
    /// What it does, in one sentence.
    pub description: &'static str,
    /// Each form, such as `string.charAt(int) -> string`.
    pub signatures: Vec<String>,
}

impl DeclaredType {
    fn type_of(&self, types: &mut TypeTable, depth: usize) -> Type {
        if depth > 64 {
            return Type::DYN;
        }
        let below = depth.saturating_add(1);
        match self {
            DeclaredType::Dyn => Type::DYN,
            DeclaredType::Null => Type::NULL,
            DeclaredType::Bool => Type::BOOL,
            DeclaredType::Int => Type::INT,
            DeclaredType::Uint => Type::UINT,
            DeclaredType::Double => Type::DOUBLE,
            DeclaredType::String => Type::STRING,
            DeclaredType::Bytes => Type::BYTES,
            DeclaredType::Timestamp => Type::TIMESTAMP,
            DeclaredType::Duration => Type::DURATION,
            DeclaredType::Type => types.intern(TypeKind::Type(Type::DYN)),
            DeclaredType::List(element) => {
                let element = element.type_of(types, below);
                types.list(element)
            }
            DeclaredType::Map(key, value) => {
                let key = key.type_of(types, below);
                let value = value.type_of(types, below);
                types.map(key, value)
            }
            DeclaredType::Optional(value) => {
                let value = value.type_of(types, below);
                types.optional(value)
            }
        }
    }
}

//! Which types fit, and what the unknown ones among them are then.

use super::{Type, TypeKind, TypeTable};

/// A table of types with what is known of its variables.
pub(crate) struct Unifier {
    pub(crate) table: TypeTable,
    bindings: Vec<Option<Type>>,
    /// What was bound before, in the order of binding, so that a failed attempt leaves nothing behind.
    trail: Vec<(u32, Option<Type>)>,
    steps: usize,
}

/// What came of trying a type for a variable.
struct Attempt {
    valid: bool,
    /// Whether the variable had a type already.
    bound: bool,
}

impl Unifier {
    pub(crate) fn new(table: TypeTable, steps: usize) -> Self {
        Unifier { table, bindings: Vec::new(), trail: Vec::new(), steps }
    }

    /// Whether comparing types took more steps than allowed.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.steps == 0
    }

    fn step(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.steps > 0
    }

    /// A type that is not known yet.
    pub(crate) fn fresh(&mut self) -> Type {
        let number = u32::try_from(self.bindings.len()).unwrap_or(u32::MAX);
        self.bindings.push(None);
        self.table.intern(TypeKind::Variable(number))
    }

    fn bound(&self, variable: u32) -> Option<Type> {
        self.bindings.get(variable as usize).copied().flatten()
    }

    fn bind(&mut self, variable: u32, to: Type) {
        if let Some(slot) = self.bindings.get_mut(variable as usize) {
            self.trail.push((variable, *slot));
            *slot = Some(to);
        }
    }

    fn undo_to(&mut self, mark: usize) {
        while self.trail.len() > mark {
            if let Some((variable, before)) = self.trail.pop()
                && let Some(slot) = self.bindings.get_mut(variable as usize)
            {
                *slot = before;
            }
        }
    }

    /// Whether a value of type `from` may stand where `to` is wanted; binds variables if so.
    pub(crate) fn assign(&mut self, to: Type, from: Type) -> bool {
        let mark = self.trail.len();
        let fits = self.fits(to, from);
        if !fits {
            self.undo_to(mark);
        }
        fits
    }

    /// The same for pairs of types, all or none of them.
    pub(crate) fn assign_all(&mut self, pairs: impl IntoIterator<Item = (Type, Type)>) -> bool {
        let mark = self.trail.len();
        for (to, from) in pairs {
            if !self.fits(to, from) {
                self.undo_to(mark);
                return false;
            }
        }
        true
    }

    fn fits(&mut self, one: Type, two: Type) -> bool {
        if one == two && !self.table.is_open(one) {
            return true;
        }
        if !self.step() {
            return false;
        }
        let (first, second) = (self.table.kind(one), self.table.kind(two));
        if let TypeKind::Variable(variable) = second {
            let attempt = self.try_binding(one, two, variable);
            if attempt.valid || attempt.bound {
                return attempt.valid;
            }
        }
        if let TypeKind::Variable(variable) = first {
            return self.try_binding(two, one, variable).valid;
        }
        let wild = |kind| matches!(kind, TypeKind::Dyn | TypeKind::Error);
        if wild(first) || wild(second) {
            return true;
        }
        match (first, second) {
            (TypeKind::Null, other) | (other, TypeKind::Null) => is_nullable(other),
            (TypeKind::Type(_), TypeKind::Type(_)) => true,
            (TypeKind::List(a), TypeKind::List(b)) | (TypeKind::Optional(a), TypeKind::Optional(b)) => self.fits(a, b),
            (TypeKind::Map(a, c), TypeKind::Map(b, d)) => self.fits(a, b) && self.fits(c, d),
            (a, b) => a == b,
        }
    }

    /// Tries a type for a variable.
    fn try_binding(&mut self, one: Type, of: Type, variable: u32) -> Attempt {
        if one == of {
            return Attempt { valid: true, bound: true };
        }
        if let Some(known) = self.bound(variable) {
            if one == known {
                return Attempt { valid: true, bound: true };
            }
            if !self.fits(one, known) {
                return Attempt { valid: false, bound: true };
            }
            let general = self.most_general(one, known);
            if self.is_absent(of, general) {
                self.bind(variable, general);
            }
            return Attempt { valid: true, bound: true };
        }
        if self.is_absent(of, one) {
            self.bind(variable, one);
            return Attempt { valid: true, bound: false };
        }
        Attempt { valid: false, bound: false }
    }

    /// Whether a variable does not occur in a type.
    fn is_absent(&mut self, of: Type, within: Type) -> bool {
        if of == within || !self.step() {
            return false;
        }
        if !self.table.is_open(within) {
            return true;
        }
        match self.table.kind(within) {
            TypeKind::Variable(other) => match self.bound(other) {
                Some(known) => self.is_absent(of, known),
                None => true,
            },
            TypeKind::Type(inner) | TypeKind::List(inner) | TypeKind::Optional(inner) => self.is_absent(of, inner),
            TypeKind::Map(key, value) => self.is_absent(of, key) && self.is_absent(of, value),
            _ => true,
        }
    }

    /// The less specific of two types that fit.
    pub(crate) fn most_general(&mut self, one: Type, two: Type) -> Type {
        if self.is_less_specific(one, two) { one } else { two }
    }

    fn is_less_specific(&mut self, one: Type, two: Type) -> bool {
        if one == two || !self.step() {
            return true;
        }
        let (first, second) = (self.table.kind(one), self.table.kind(two));
        let unspecific = |kind| matches!(kind, TypeKind::Dyn | TypeKind::Variable(_));
        if unspecific(first) {
            return true;
        }
        if unspecific(second) {
            return false;
        }
        match (first, second) {
            (TypeKind::List(a), TypeKind::List(b)) | (TypeKind::Optional(a), TypeKind::Optional(b)) => {
                self.is_less_specific(a, b)
            }
            (TypeKind::Map(a, c), TypeKind::Map(b, d)) => self.is_less_specific(a, b) && self.is_less_specific(c, d),
            (TypeKind::Type(_), TypeKind::Type(_)) => true,
            _ => false,
        }
    }

    /// The type with what is known of its variables; those that nothing is known of stay.
    pub(crate) fn resolve(&mut self, of: Type) -> Type {
        self.substitute(of, false)
    }

    /// The same with dynamic types for what nothing is known of.
    pub(crate) fn close(&mut self, of: Type) -> Type {
        self.substitute(of, true)
    }

    fn substitute(&mut self, of: Type, close: bool) -> Type {
        if !self.table.is_open(of) {
            return of;
        }
        if !self.step() {
            return Type::DYN;
        }
        match self.table.kind(of) {
            TypeKind::Variable(variable) => match self.bound(variable) {
                Some(known) => self.substitute(known, close),
                None if close => Type::DYN,
                None => of,
            },
            TypeKind::Type(inner) => {
                let inner = self.substitute(inner, close);
                self.table.intern(TypeKind::Type(inner))
            }
            TypeKind::List(inner) => {
                let inner = self.substitute(inner, close);
                self.table.list(inner)
            }
            TypeKind::Optional(inner) => {
                let inner = self.substitute(inner, close);
                self.table.optional(inner)
            }
            TypeKind::Map(key, value) => {
                let key = self.substitute(key, close);
                let value = self.substitute(value, close);
                self.table.map(key, value)
            }
            _ => of,
        }
    }

    /// A type of a signature with variables for its parameters.
    pub(crate) fn instantiate(&mut self, of: Type, parameters: &[Type]) -> Type {
        if !self.table.is_open(of) {
            return of;
        }
        match self.table.kind(of) {
            TypeKind::Parameter(number) => parameters.get(usize::from(number)).copied().unwrap_or(Type::DYN),
            TypeKind::Type(inner) => {
                let inner = self.instantiate(inner, parameters);
                self.table.intern(TypeKind::Type(inner))
            }
            TypeKind::List(inner) => {
                let inner = self.instantiate(inner, parameters);
                self.table.list(inner)
            }
            TypeKind::Optional(inner) => {
                let inner = self.instantiate(inner, parameters);
                self.table.optional(inner)
            }
            TypeKind::Map(key, value) => {
                let key = self.instantiate(key, parameters);
                let value = self.instantiate(value, parameters);
                self.table.map(key, value)
            }
            _ => of,
        }
    }
}

/// Whether `null` may stand for a value of this type.
fn is_nullable(kind: TypeKind) -> bool {
    matches!(
        kind,
        TypeKind::Null
            | TypeKind::Timestamp
            | TypeKind::Duration
            | TypeKind::Optional(_)
            | TypeKind::Named(_)
            | TypeKind::Object(_)
            | TypeKind::Variables
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unifier() -> Unifier {
        Unifier::new(TypeTable::new(), 1_000_000)
    }

    #[test]
    fn null_stands_for_times_and_not_for_texts() {
        let mut types = unifier();
        assert!(types.assign(Type::TIMESTAMP, Type::NULL));
        assert!(!types.assign(Type::STRING, Type::NULL));
        assert!(types.assign(Type::DYN, Type::NULL));
    }

    #[test]
    fn variables_take_the_more_general_type_and_nothing_after_a_failure() {
        let mut types = unifier();
        let unknown = types.fresh();
        assert!(types.assign(Type::INT, unknown));
        assert_eq!(types.resolve(unknown), Type::INT);
        let other = types.fresh();
        assert!(!types.assign_all([(Type::INT, other), (Type::STRING, other)]));
        assert_eq!(types.close(other), Type::DYN);
        assert!(types.assign(Type::DYN, unknown));
        assert_eq!(types.resolve(unknown), Type::DYN);
    }

    #[test]
    fn a_type_does_not_contain_itself() {
        let mut types = unifier();
        let unknown = types.fresh();
        let list = types.table.list(unknown);
        assert!(!types.assign(list, unknown));
    }
}

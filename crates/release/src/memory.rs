//! How much memory objects take, before they are made.

use clearway_yaml::{Node, Value};

/// One value, with the room that a growing list has to spare.
const VALUE: u64 = 64;
/// What an allocation takes beside its bytes.
const ALLOCATION: u64 = 32;
/// One table of the tree that holds the fields of an object: eleven names and values, however many are used.
const TABLE: u64 = 768;
/// The fewest fields in a table of an object that has several tables.
const TABLE_FIELDS: u64 = 5;
/// The most fields in one table.
const MOST_TABLE_FIELDS: u64 = 11;

/// Counts the memory of objects against a limit.
#[derive(Debug)]
pub(super) struct ObjectMemory {
    used: u64,
    limit: u64,
}

impl ObjectMemory {
    pub(super) fn new(limit: u64) -> Self {
        ObjectMemory { used: 0, limit }
    }

    /// Counts one object; an error with what is wrong if all of them are too large.
    pub(super) fn add(&mut self, object: Node<'_>) -> Result<(), String> {
        self.used = self.used.saturating_add(memory_of(object));
        if self.used <= self.limit {
            return Ok(());
        }
        let limit = self.limit;
        Err(format!(
            "the objects of the release take more than {limit} bytes of memory (each alias counts as its value); remove \
             objects, or divide the release into several"
        ))
    }
}

/// The bytes that a value takes as JSON in memory; rather too many than too few.
fn memory_of(root: Node<'_>) -> u64 {
    let mut bytes = VALUE;
    let mut open = vec![root];
    let text = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(ALLOCATION);
    while let Some(node) = open.pop() {
        let more = match node.value() {
            Value::Text(value) => text(value),
            Value::Sequence => {
                let before = open.len();
                open.extend(node.items());
                let items = u64::try_from(open.len().saturating_sub(before)).unwrap_or(u64::MAX);
                items.saturating_mul(VALUE).saturating_add(ALLOCATION)
            }
            Value::Mapping => {
                let (mut fields, mut names) = (0_u64, 0_u64);
                for (name, value) in node.fields() {
                    fields = fields.saturating_add(1);
                    names = names.saturating_add(text(name.raw()));
                    open.push(value);
                }
                let tables = match fields {
                    0 => 0,
                    1..=MOST_TABLE_FIELDS => 1,
                    _ => (fields / TABLE_FIELDS).saturating_add(1),
                };
                tables.saturating_mul(TABLE).saturating_add(names)
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
        };
        bytes = bytes.saturating_add(more);
    }
    bytes
}

//! How much memory the files of a snapshot may take once they are read. What is above it is neither read nor written.
//!
//! Bytes alone do not bound it: `[{"a":0},{"a":0}]` takes eighty times its length, because every map has room for several
//! fields. So maps, lists and values are counted in the text, before memory is taken for them.

use clearway_promql::read::ReadLimits;
use clearway_promql::series::Capacity;

/// Bytes of all files of a snapshot.
pub(super) const BYTES: u64 = 64 << 20;
/// Bytes that the objects of all kinds take in memory: about 30,000 pods.
const MEMORY: usize = 256 << 20;
/// What a map with fields takes, without the texts in it.
const MAP: usize = 700;
/// What each value after the first one of a list or map takes.
const VALUE: usize = 80;

/// What is left for the objects of a snapshot.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Budget { left: MEMORY }
    }

    #[cfg(test)]
    pub(super) fn of(left: usize) -> Self {
        Budget { left }
    }

    /// Takes what a JSON text will need; says why there is not enough.
    pub(super) fn take(&mut self, json: &[u8]) -> Result<(), String> {
        let needed = memory_of(json);
        let left = self.left.checked_sub(needed);
        self.left = left.ok_or_else(|| format!("the objects take more than {} MiB of memory", MEMORY >> 20))?;
        Ok(())
    }
}

/// About how much memory a JSON text takes once it is read.
fn memory_of(json: &[u8]) -> usize {
    let (mut memory, mut in_text, mut escaped) = (json.len(), false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' => memory = memory.saturating_add(MAP),
            b'[' | b',' => memory = memory.saturating_add(VALUE),
            _ => {}
        }
    }
    memory
}

/// How many series a snapshot may hold: twice what is collected.
pub(super) fn series() -> ReadLimits {
    let capacity = Capacity { series: 200_000, samples: 4_000_000, bytes: 32 << 20 };
    ReadLimits { bytes: usize::try_from(BYTES).unwrap_or(usize::MAX), capacity }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_and_values_are_counted_where_they_are_no_text() {
        for (json, maps, values) in
            [("{}", 1, 0), (r#"[{"a":0},{"a":0}]"#, 2, 2), (r#"{"a":"{[,\"{,","b":[1,2]}"#, 1, 3), (r#""\\","#, 0, 1)]
        {
            assert_eq!(memory_of(json.as_bytes()), json.len() + maps * MAP + values * VALUE, "{json}");
        }
        let mut budget = Budget { left: 2 * MAP };
        assert_eq!(budget.take(b"{}"), Ok(()));
        assert!(budget.take(b"{}").unwrap_err().contains("MiB of memory"));
        assert_eq!(budget.take(b"0"), Ok(()), "what fits still fits");
    }
}

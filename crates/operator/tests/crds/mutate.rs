//! Objects with something changed at a random place, the same ones in every run.

use serde_json::{Value, json};

/// A small generator of numbers (xorshift): what matters is that every run has the same ones.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or_default() % bound.max(1)
    }
}

/// Changes one to three places.
pub(crate) fn mutate(value: &mut Value, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(3) {
        step(value, numbers);
    }
}

fn step(value: &mut Value, numbers: &mut Numbers) {
    let deeper = numbers.below(5) > 0;
    match value {
        Value::Object(map) if deeper && !map.is_empty() => {
            let at = numbers.below(map.len());
            let child = map.values_mut().nth(at).unwrap();
            return step(child, numbers);
        }
        Value::Array(items) if deeper && !items.is_empty() => {
            let at = numbers.below(items.len());
            return step(&mut items[at], numbers);
        }
        _ => {}
    }
    match (numbers.below(4), value) {
        (0, Value::Object(map)) if !map.is_empty() => {
            let key = map.keys().nth(numbers.below(map.len())).unwrap().clone();
            map.remove(&key);
        }
        (1, Value::Object(map)) => {
            map.insert("unknownField".to_owned(), any(numbers));
        }
        (0, Value::Array(items)) if !items.is_empty() => {
            let item = items[numbers.below(items.len())].clone();
            items.push(item);
        }
        (1, Value::Array(items)) => items.push(any(numbers)),
        (_, value) => *value = any(numbers),
    }
}

fn any(numbers: &mut Numbers) -> Value {
    let pool = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(2.0),
        json!(9_223_372_036_854_775_807_i64),
        json!(""),
        json!("x"),
        json!("Multi"),
        json!("Always"),
        json!("Moon"),
        json!("True"),
        json!("Info"),
        json!("https://example.com/a b?c=%zz#d"),
        json!("/absolute"),
        json!("relative"),
        json!("http://"),
        json!("2021-08-28T02:00:00+02:00"),
        json!("2021-13-28T02:00:00Z"),
        json!("é".repeat(300)),
        json!("a".repeat(33_000)),
        json!([]),
        json!([null]),
        json!(["a", "a"]),
        json!([{}]),
        json!({}),
        json!({"name": "n", "type": "t", "promql": 1}),
    ];
    pool[numbers.below(pool.len())].clone()
}

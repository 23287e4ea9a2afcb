//! MD5 (RFC 1321) and SHA-1 (RFC 3174): broken for signatures, and still used by policies to compare texts.

/// Blocks of 64 bytes: the message, a bit, zeros, and its length in bits.
fn blocks(message: &[u8], big_endian: bool) -> Vec<[u8; 64]> {
    let mut padded = message.to_vec();
    let bits = u64::try_from(message.len()).unwrap_or(u64::MAX).wrapping_mul(8);
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend(if big_endian { bits.to_be_bytes() } else { bits.to_le_bytes() });
    padded.as_chunks().0.to_vec()
}

fn words(block: &[u8; 64], big_endian: bool) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = if big_endian { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
    }
    words
}

const MD5_SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The MD5 digest.
pub(super) fn md5(message: &[u8]) -> Vec<u8> {
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in blocks(message, false) {
        let words = words(&block, false);
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64_usize {
            let round = step / 16;
            let (mix, word) = match round {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), (7 * step) % 16),
            };
            let shift = MD5_SHIFTS.get(round).and_then(|shifts| shifts.get(step % 4)).copied().unwrap_or(0);
            let word = words.get(word).copied().unwrap_or(0);
            let sum = a.wrapping_add(mix).wrapping_add(md5_constant(step)).wrapping_add(word);
            (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(shift)));
        }
        for (total, own) in state.iter_mut().zip([a, b, c, d]) {
            *total = total.wrapping_add(own);
        }
    }
    state.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The constants are defined by the sine function.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the definition
fn md5_constant(step: usize) -> u32 {
    (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32
}

/// The SHA-1 digest.
#[expect(clippy::many_single_char_names, reason = "the names of the specification")]
pub(super) fn sha1(message: &[u8]) -> Vec<u8> {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in blocks(message, true) {
        let mut schedule: Vec<u32> = words(&block, true).to_vec();
        for step in 16..80_usize {
            let before = |back: usize| schedule.get(step - back).copied().unwrap_or(0);
            let word = (before(3) ^ before(8) ^ before(14) ^ before(16)).rotate_left(1);
            schedule.push(word);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (step, word) in schedule.into_iter().enumerate() {
            let (mix, constant) = match step / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(mix).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (total, own) in state.iter_mut().zip([a, b, c, d, e]) {
            *total = total.wrapping_add(own);
        }
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

//! Durations, sizes and times as arguments.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use clearway_core::Timestamp;

/// The time that ages are computed at.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ReferenceTime {
    /// Compute ages at this time (RFC 3339), for stored objects [default: the current time]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Timestamp>,
}

/// Reads `90s`, `5m`, `1h30m`; a bare number is seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let help = || format!("`{text}` is not a duration such as 90s, 5m or 1h30m");
    let mut total = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = rest.split_at(digits);
        let number: u64 = number.parse().map_err(|_| help())?;
        let mut unit = behind.chars();
        let factor = match unit.next() {
            Some('s') | None => 1,
            Some('m') => 60,
            Some('h') => 3_600,
            Some('d') => 86_400,
            Some(_) => return Err(help()),
        };
        total = number.checked_mul(factor).and_then(|seconds| total.checked_add(seconds)).ok_or_else(help)?;
        rest = unit.as_str();
    }
    if text.is_empty() { Err(help()) } else { Ok(Duration::from_secs(total)) }
}

/// Reads an address to listen on: `127.0.0.1:8080`, `[::1]:8080`.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let help = || match text.trim_start_matches(':').parse::<u16>() {
        Ok(port) => format!("it has no IP address; write 127.0.0.1:{port}, or 0.0.0.0:{port} for all interfaces"),
        Err(_) => format!("`{text}` is not an IP address and a port, such as 127.0.0.1:8080"),
    };
    text.parse().map_err(|_| help())
}

/// Reads `512`, `64K`, `10M`, `1G` (powers of 1024).
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let help = || format!("`{text}` is not a size such as 512K, 10M or 1G");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| help())?;
    let shift = match text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(help()),
    };
    number.checked_mul(1 << shift).ok_or_else(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_read_as_people_write_them() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("1h30m", 5_400), ("2d", 172_800), ("45", 45)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "m", "5x", "-1s", "99999999999999999999s", "9999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        for (text, bytes) in [("512", 512), ("64K", 65_536), ("1MiB", 1 << 20), ("1g", 1 << 30)] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        assert!(parse_listen("0.0.0.0:80").is_ok() && parse_listen("[::1]:80").is_ok());
        for text in ["8080", ":8080", "localhost:80", ""] {
            assert!(parse_listen(text).unwrap_err().contains("127.0.0.1:8080"), "{text}");
        }
        for text in ["", "K", "1T", "-1", "99999999999G"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}

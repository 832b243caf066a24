//! Sizes in bytes, as text.

/// Parses a size such as `8GiB`, `1.5G`, `900MiB`, or a number of bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err(format!("expected a size such as 8GiB or 900MB, found the unit `{unit}`")),
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok((number * factor) as u64),
        _ => Err("expected a size such as 8GiB or 900MB".into()),
    }
}

/// Formats a number of bytes in MiB or GiB.
pub fn text(bytes: u64) -> String {
    let mib = bytes as f64 / (1 << 20) as f64;
    if mib < 1024.0 { format!("{mib:.1} MiB") } else { format!("{:.2} GiB", mib / 1024.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_formats_sizes() {
        assert_eq!(parse("8GiB"), Ok(8 << 30));
        assert_eq!(parse("1.5g"), Ok(3 << 29));
        assert_eq!(parse("900MB"), Ok(900_000_000));
        assert_eq!(parse("4096"), Ok(4096));
        for wrong in ["", "GiB", "-1", "0", "8 parsecs", "1.2.3M"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!((text(3 << 19), text(5 << 29)), ("1.5 MiB".into(), "2.50 GiB".into()));
    }
}

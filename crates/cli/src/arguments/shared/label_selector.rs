//! Label selectors, checked before a cluster is asked.

/// Reads a label selector as `kubectl` takes it: `app=web,tier!=test,env in (a, b),!legacy`.
pub(crate) fn parse_selector(text: &str) -> Result<String, String> {
    let help =
        |part: &str| format!("`{}` is not a label selector such as app=web, env!=test or tier in (a, b)", part.trim());
    let parts = split(text).ok_or_else(|| help(text))?;
    match parts.iter().find(|part| !is_requirement(part.trim())) {
        Some(part) => Err(help(part)),
        None => Ok(text.to_owned()),
    }
}

/// The requirements between commas outside of parentheses; `None` if those are not closed.
fn split(text: &str) -> Option<Vec<String>> {
    let (mut parts, mut open) = (vec![String::new()], false);
    for letter in text.chars() {
        match letter {
            '(' if !open => open = true,
            ')' if open => open = false,
            '(' | ')' => return None,
            _ => {}
        }
        match (letter, parts.last_mut()) {
            (',', _) if !open => parts.push(String::new()),
            (letter, Some(part)) => part.push(letter),
            (_, None) => {}
        }
    }
    (!open).then_some(parts)
}

fn is_requirement(text: &str) -> bool {
    if let Some((key, values)) = text.split_once('(') {
        let Some((key, word)) = key.trim().rsplit_once(char::is_whitespace) else { return false };
        let values = values.trim_end().trim_end_matches(')');
        return matches!(word, "in" | "notin")
            && is_key(key.trim())
            && values.split(',').all(|value| is_value(value.trim()));
    }
    for sign in ["!=", "==", "="] {
        if let Some((key, value)) = text.split_once(sign) {
            return is_key(key.trim()) && is_value(value.trim());
        }
    }
    is_key(text.strip_prefix('!').unwrap_or(text).trim())
}

fn is_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let is_domain = |text: &str| {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
        (1..=253).contains(&text.len()) && text.bytes().all(is_inner)
    };
    !name.is_empty() && is_value(name) && prefix.is_none_or(is_domain)
}

fn is_value(text: &str) -> bool {
    let ends_well = |end: Option<char>| end.is_none_or(|letter| letter.is_ascii_alphanumeric());
    text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && ends_well(text.chars().next())
        && ends_well(text.chars().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubectl_takes_is_taken_and_nothing_else() {
        for good in [
            "app=web",
            "app==web,tier!=test",
            "env in (a, b),!legacy",
            "example.com/app",
            "a=",
            "env notin (x)",
            "a = b",
        ] {
            assert!(parse_selector(good).is_ok(), "{good}");
        }
        for bad in
            ["", "app=web,", "=web", "app=we b", "app in a", "app in (a", "env within (a)", "a/b/c=d", "-a=b", "a=b=c"]
        {
            assert!(parse_selector(bad).is_err(), "{bad}");
        }
    }
}

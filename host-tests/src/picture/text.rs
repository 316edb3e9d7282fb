//! Text on its way into a picture.

use std::fmt;

/// Text between tags or in a quoted attribute of HTML or SVG.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // XML takes no other control characters, not even escaped; nobody can read them anyway.
                '\n' | '\t' => write!(f, "{letter}")?,
                letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                    f.write_str("\u{fffd}")?
                }
                letter => write!(f, "{letter}")?,
            }
        }
        Ok(())
    }
}

/// JSON inside a `script` element, which ends at the next `</script`, wherever that stands.
pub fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// At most `most` characters, the last an ellipsis if some are missing.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// `1 node`, `2 nodes`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        let hostile = "</title><script>alert('1')</script>&\"\u{0}\u{1b}";
        let escaped = Escaped(hostile).to_string();
        assert_eq!(escaped, "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;\u{fffd}\u{fffd}");
        let json = serde_json::to_string(hostile).unwrap();
        assert!(!in_script(&json).contains('<'));
        assert_eq!(serde_json::from_str::<String>(&in_script(&json)).unwrap(), hostile);
    }

    #[test]
    fn long_text_is_shortened_by_characters() {
        assert_eq!(shortened("größe", 5), "größe");
        assert_eq!(shortened("größer", 5), "größ…");
    }
}

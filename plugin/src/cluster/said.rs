//! What has been logged: whatever is met in every cycle is worth one line.

use alloc::vec::Vec;

use super::digest;

/// Most lines that are remembered; then all are forgotten, and may be said again.
const MOST: usize = 256;

/// Digests of lines.
#[derive(Debug, Default)]
pub struct Said(Vec<u64>);

impl Said {
    /// Whether the line has not been said; from now on it has.
    pub fn is_news(&mut self, line: &str) -> bool {
        let digest = digest(line.as_bytes());
        let news = !self.0.contains(&digest);
        if news {
            if self.0.len() >= MOST {
                self.0.clear();
            }
            self.0.push(digest);
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_news_once() {
        let mut said = Said::default();
        for number in 0..MOST {
            assert!(said.is_news(&format!("node {number}")));
            assert!(!said.is_news("node 0"));
        }
        assert!(said.is_news("another"));
        assert_eq!(said.0.len(), 1);
    }
}

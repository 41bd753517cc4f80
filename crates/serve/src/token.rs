//! The secret that a page shows with each request: 128 random bits, in the fragment of the address, which browsers send nowhere.

use std::fmt;
use std::hint::black_box;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Random bytes of a token.
const BYTES: usize = 16;

/// A token. It is never in a log: `Debug` does not show it.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// A new one.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0_u8; BYTES];
        let mut filled = 0;
        while filled < BYTES {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
        }
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Self(digits.collect()))
    }

    /// As it stands in an address.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether `shown` is this token. The time that it takes does not depend on where the two differ.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let mut differs = u8::from(own.len() != shown.len());
        for (place, byte) in own.iter().enumerate() {
            differs |= black_box(byte ^ shown.get(place).copied().unwrap_or_default());
        }
        black_box(differs) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_it() {
        let token = Token::new().unwrap();
        let text = token.text().to_owned();
        assert_eq!(text.len(), 32);
        assert!(token.is(text.as_bytes()));
        for place in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[place] ^= 1;
            assert!(!token.is(&other), "{place}");
            assert!(!token.is(&text.as_bytes()[..place]), "{place}");
        }
        assert!(!token.is(format!("{text}0").as_bytes()));
        assert!(!token.is(b""));
    }

    #[test]
    fn tokens_differ_and_are_not_shown() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_ne!(one.text(), other.text());
        assert!(!format!("{one:?}").contains(one.text()));
    }
}

//! Texts from their parts, without std's formatter.
//!
//! `format!` brings five kilobytes of padding, precision and hexadecimals into the module, and wants the address of every
//! part. Here a part writes itself at the end of a text: `say!("needs ", wanted, " ", name)`.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;

/// A part of a text.
pub trait Say {
    /// Writes it at the end of `text`.
    fn say(&self, text: &mut String);
}

/// A text from its parts.
macro_rules! say {
    ($($part:expr),+ $(,)?) => {{
        let mut text = alloc::string::String::new();
        say_to!(&mut text, $($part),+);
        text
    }};
}

/// Writes parts at the end of a text.
macro_rules! say_to {
    ($text:expr, $($part:expr),+ $(,)?) => {{ $($crate::say::Say::say(&$part, $text);)+ }};
}

/// What says itself can be printed, too: outside the module there is std's formatter anyway.
macro_rules! display {
    ($kind:ty) => {
        impl core::fmt::Display for $kind {
            fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                out.write_str(&say!(self))
            }
        }
    };
}

impl<T: Say + ?Sized> Say for &T {
    fn say(&self, text: &mut String) {
        (**self).say(text);
    }
}

impl<T: Say + ?Sized> Say for &mut T {
    fn say(&self, text: &mut String) {
        (**self).say(text);
    }
}

macro_rules! say_text {
    ($($kind:ty),+) => {$(
        impl Say for $kind {
            fn say(&self, text: &mut String) {
                text.push_str(self);
            }
        }
    )+};
}

say_text!(str, String, Box<str>, Cow<'_, str>);

impl Say for i64 {
    fn say(&self, text: &mut String) {
        if *self < 0 {
            text.push('-');
        }
        digits(self.unsigned_abs(), text);
    }
}

impl Say for i32 {
    fn say(&self, text: &mut String) {
        i64::from(*self).say(text);
    }
}

/// Numbers without a sign.
macro_rules! say_unsigned {
    ($($kind:ty),+) => {$(
        impl Say for $kind {
            fn say(&self, text: &mut String) {
                digits(*self as u64, text);
            }
        }
    )+};
}

say_unsigned!(u8, u32, u64, usize);

/// A number in decimal digits.
fn digits(number: u64, text: &mut String) {
    let mut unit = 1_u64;
    while number.checked_div(unit).is_some_and(|rest| rest >= 10) {
        // Not above `number`.
        unit = unit.wrapping_mul(10);
    }
    while let Some(rest) = number.checked_div(unit) {
        text.push(char::from((rest % 10) as u8 | b'0'));
        unit /= 10;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_said_as_std_prints_them(number in prop_oneof![any::<i64>(), -1000..1000_i64], small: u8) {
            prop_assert_eq!(say!(number, " of ", number.unsigned_abs()), format!("{number} of {}", number.unsigned_abs()));
            prop_assert_eq!(say!(small, "/", u32::from(small)), format!("{small}/{small}"));
        }
    }

    #[test]
    fn parts_of_every_kind() {
        let (boxed, cow): (Box<str>, Cow<'_, str>) = ("b".into(), "c".into());
        assert_eq!(
            say!("a", boxed, cow, &&"d", String::from("é"), i64::MIN, u64::MAX, 0_usize),
            "abcdé-9223372036854775808184467440737095516150"
        );
        let mut text = String::from("x");
        say_to!(&mut text, 10_u32, ",", 100_u32);
        assert_eq!(text, "x10,100");
    }
}

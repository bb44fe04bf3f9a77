//! As much of JSON (RFC 8259) as a problem needs to be written: one flat object, in the order in which it is filled.

/// An object that is being written.
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Self {
        Self("{".to_owned())
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        push_text(&mut self.0, value);
    }

    pub(super) fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        self.0.push_str(&value.to_string());
    }

    pub(super) fn texts(&mut self, name: &str, values: &[String]) {
        self.name(name);
        self.0.push('[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            push_text(&mut self.0, value);
        }
        self.0.push(']');
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.0.push('}');
        self.0.into_bytes()
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_text(&mut self.0, name);
        self.0.push(':');
    }
}

/// A string: quotes, backslashes and control characters escaped, the rest as it is (section 7).
fn push_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\0'..='\x1f' => {
                out.push_str(if character < '\x10' { "\\u000" } else { "\\u001" });
                out.extend(char::from_digit(u32::from(character) % 16, 16));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

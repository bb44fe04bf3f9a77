//! Bytes as choices: what targets need that are fed with values rather than with text.

/// What is left of the bytes. When nothing is, everything is 0 and empty.
pub(crate) struct Pieces<'b>(&'b [u8]);

impl<'b> Pieces<'b> {
    pub(crate) const fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below that one.
    pub(crate) fn below(&mut self, most: u8) -> u8 {
        self.byte() % most
    }

    pub(crate) fn is_odd(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// One of these.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    /// So many bytes, or what is left.
    pub(crate) fn bytes(&mut self, length: usize) -> &'b [u8] {
        let (first, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        first
    }

    /// Up to 63 bytes.
    pub(crate) fn word(&mut self) -> &'b [u8] {
        let length = self.below(64);
        self.bytes(length.into())
    }

    /// Up to 63 bytes of text.
    pub(crate) fn text(&mut self) -> String {
        String::from_utf8_lossy(self.word()).into_owned()
    }

    /// Any number; small ones and those around powers of two are likely.
    pub(crate) fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.byte().into(),
            1 => self.whole(2),
            2 => (1_u64 << self.below(64)).wrapping_add(u64::from(self.below(3))).wrapping_sub(1),
            _ => self.whole(8),
        }
    }

    fn whole(&mut self, bytes: usize) -> u64 {
        self.bytes(bytes).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

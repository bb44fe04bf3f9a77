//! Which slot of a Cluster a key is in: the CRC16 of its tag, or of the whole key if it has none.

/// Slots of a Cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// The slot of a key.
pub(crate) fn slot_of_key(key: &[u8]) -> u16 {
    slot_of_tag(tag(key))
}

/// The slot of every key that has this tag.
pub(crate) fn slot_of_tag(tag: &[u8]) -> u16 {
    crc16(tag) % SLOTS
}

/// A tag of keys in a slot: the first number that is one, which one in 16 384 is.
pub(crate) fn tag_in(slot: u16) -> String {
    let mut tags = (0..u32::MAX).map(|number| number.to_string());
    tags.find(|tag| slot_of_tag(tag.as_bytes()) == slot).expect("numbers have every checksum")
}

/// All slots, or some of a Cluster's.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Slots {
    All,
    /// A bit for each.
    Some(Box<[u64; SLOTS as usize / 64]>),
}

impl Slots {
    /// These.
    pub(crate) fn of(slots: impl IntoIterator<Item = u16>) -> Self {
        let mut bits = Box::new([0; SLOTS as usize / 64]);
        for slot in slots {
            bits[usize::from(slot / 64)] |= 1 << (slot % 64);
        }
        Self::Some(bits)
    }

    pub(crate) fn has(&self, slot: u16) -> bool {
        match self {
            Self::All => true,
            Self::Some(bits) => bits[usize::from(slot / 64)] >> (slot % 64) & 1 == 1,
        }
    }

    /// The lowest.
    pub(crate) fn first(&self) -> Option<u16> {
        (0..SLOTS).find(|slot| self.has(*slot))
    }
}

/// How many there are, not which.
impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("Slots(all)"),
            Self::Some(bits) => {
                write!(f, "Slots({})", bits.iter().map(|bits| bits.count_ones()).sum::<u32>())
            }
        }
    }
}

/// What stands between the first `{` and the next `}`, if that is anything.
fn tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&byte| byte == b'{') else { return key };
    let inside = &key[open + 1..];
    match inside.iter().position(|&byte| byte == b'}') {
        None | Some(0) => key,
        Some(close) => &inside[..close],
    }
}

/// CRC16 as XMODEM has it: polynomial 0x1021, nothing reflected, starting from 0.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| (crc << 8) ^ TABLE[usize::from(crc.to_be_bytes()[0] ^ byte)])
}

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte: u16 = 0;
    while byte < 256 {
        let mut crc = byte << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{SLOTS, Slots, crc16, slot_of_key, slot_of_tag, tag_in};

    #[test]
    fn the_checksum_is_the_one_of_the_cluster_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(slot_of_key(b"somekey"), 11_058);
    }

    #[test]
    fn a_tag_decides_alone() {
        for key in ["{user1000}.following", "a{user1000}", "{user1000}{other}"] {
            assert_eq!(slot_of_key(key.as_bytes()), slot_of_tag(b"user1000"));
        }
        for key in ["{}tag", "{open", "plain}{"] {
            assert_eq!(slot_of_key(key.as_bytes()), slot_of_tag(key.as_bytes()));
        }
        assert_eq!(slot_of_key(b"foo{{bar}}zap"), slot_of_tag(b"{bar"));
    }

    #[test]
    fn every_slot_has_a_tag() {
        for slot in (0..SLOTS).step_by(1_000).chain([SLOTS - 1]) {
            assert_eq!(slot_of_tag(tag_in(slot).as_bytes()), slot);
        }
    }

    #[test]
    fn slots_are_told_apart() {
        let some = Slots::of([64, 63, 16_383]);
        assert_eq!((0..SLOTS).filter(|slot| some.has(*slot)).collect::<Vec<_>>(), [63, 64, 16_383]);
        assert_eq!((some.first(), Slots::of([]).first(), Slots::All.first()), (Some(63), None, Some(0)));
        assert!(Slots::All.has(16_383));
    }
}

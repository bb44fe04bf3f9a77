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
    use super::{crc16, slot_of_key, slot_of_tag};

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
}

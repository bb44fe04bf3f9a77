//! The form of a checkpoint: a few bytes that say what it is, then blocks of bytes, each with its length before and a
//! checksum behind. A checksum is of all that came so far, so that no block can be missing, moved or changed unseen; it is
//! against accidents, not against those who may write the file.

use std::io::{self, Read, Write};

use siphasher::sip::SipHasher13;
use tidegate_core::portable;

use super::CheckpointError;

/// The version of the form.
const VERSION: u8 = 1;

const MAGIC: [u8; 8] = *b"tidegate";

/// What it begins with: what it is, and the versions of the form and of what is in it.
const START: [u8; 10] = {
    let [a, b, c, d, e, f, g, h] = MAGIC;
    [a, b, c, d, e, f, g, h, VERSION, portable::VERSION]
};

/// The bytes around what is in a block.
const AROUND: usize = size_of::<u32>() + size_of::<u64>();

/// The most bytes in a block.
pub(super) const MOST: usize = 8 << 20;

/// Writes blocks.
pub(super) struct Writer<W> {
    out: W,
    sum: u64,
    bytes: u64,
}

/// Reads blocks, and believes nothing.
pub(super) struct Reader<R> {
    input: R,
    sum: u64,
    bytes: u64,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(super) fn start(mut out: W) -> io::Result<Self> {
        out.write_all(&START)?;
        Ok(Self { out, sum: checksum(0, &START), bytes: START.len() as u64 })
    }

    /// How many bytes it comes to once a block of so many is written.
    pub(super) const fn bytes_with(&self, block: usize) -> u64 {
        self.bytes + (block + AROUND) as u64
    }

    pub(super) fn write(&mut self, block: &[u8]) -> io::Result<()> {
        let len = u32::try_from(block.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.sum = checksum(self.sum, block);
        self.out.write_all(&len.to_le_bytes())?;
        self.out.write_all(block)?;
        self.out.write_all(&self.sum.to_le_bytes())?;
        self.bytes = self.bytes_with(block.len());
        Ok(())
    }

    /// Sees to it that all of it is out; how many bytes there are.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.bytes)
    }
}

impl<R: Read> Reader<R> {
    pub(super) fn start(mut input: R) -> Result<Self, CheckpointError> {
        let mut start = [0; START.len()];
        read(&mut input, &mut start, 0)?;
        match start {
            START => {
                Ok(Self { input, sum: checksum(0, &START), bytes: START.len() as u64, block: Vec::new() })
            }
            [magic @ .., form, content] if magic == MAGIC => Err(CheckpointError::Version {
                found: (form, content),
                expected: (VERSION, portable::VERSION),
            }),
            _ => Err(CheckpointError::Foreign),
        }
    }

    /// The next block. Memory is taken as bytes come, not as they are announced.
    pub(super) fn next(&mut self) -> Result<&[u8], CheckpointError> {
        let (mut len, mut sum) = ([0; size_of::<u32>()], [0; size_of::<u64>()]);
        read(&mut self.input, &mut len, self.bytes)?;
        let len = u32::from_le_bytes(len);
        if len as usize > MOST {
            return Err(CheckpointError::Damaged { at: self.bytes });
        }
        self.block.clear();
        let got = self.input.by_ref().take(len.into()).read_to_end(&mut self.block)?;
        if got < len as usize {
            return Err(CheckpointError::Torn { at: self.bytes });
        }
        read(&mut self.input, &mut sum, self.bytes)?;
        self.sum = checksum(self.sum, &self.block);
        if self.sum != u64::from_le_bytes(sum) {
            return Err(CheckpointError::Damaged { at: self.bytes });
        }
        self.bytes += u64::from(len) + AROUND as u64;
        Ok(&self.block)
    }

    /// What is wrong with the block that was read last.
    pub(super) const fn damaged(&self) -> CheckpointError {
        CheckpointError::Damaged { at: self.bytes }
    }

    /// That there is nothing behind the last block.
    pub(super) fn finish(mut self) -> Result<(), CheckpointError> {
        match self.input.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(self.damaged()),
        }
    }
}

/// Fills the bytes, which begin at that place.
fn read(input: &mut impl Read, bytes: &mut [u8], at: u64) -> Result<(), CheckpointError> {
    input.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => CheckpointError::Torn { at },
        _ => CheckpointError::Unreadable(error),
    })
}

fn checksum(before: u64, bytes: &[u8]) -> u64 {
    SipHasher13::new_with_keys(before, bytes.len() as u64).hash(bytes)
}

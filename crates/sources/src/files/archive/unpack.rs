//! Unpacking a stream within bounds: gzip, zstd, or as it is.
//!
//! How a layer is packed is told by its first bytes, because media types are often wrong about it.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Frames without content begin with one of sixteen numbers; tools write tables of contents into them.
const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
/// The first bytes that say how a stream is packed.
const START: u64 = 10;
/// How far back a zstd stream may refer, which is memory: what every decoder is asked to support (RFC 8878, 3.1.1.1.2).
const ZSTD_WINDOW: u64 = 8 << 20;
/// What is read at once.
const BUFFER: usize = 64 << 10;

/// Above which cap a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// Bytes that come out of it.
    Bytes(u64),
    /// Streams that are packed one behind the other: members of gzip, frames of zstd. Each costs time, also an empty one.
    Members(u64),
}

/// A stream, unpacked, that fails above a cap.
pub(crate) struct Unpacked<R: Read> {
    source: Source<R>,
    limit: u64,
    left: u64,
    /// What was looked at and not read yet.
    peeked: Vec<u8>,
    /// Whether a cap was exceeded; the readers around this one keep nothing but a text of its error.
    exceeded: Option<Excess>,
}

/// The first bytes, which were looked at, and the rest.
type Stream<R> = BufReader<io::Chain<io::Cursor<Vec<u8>>, R>>;

enum Source<R: Read> {
    Plain(Stream<R>),
    Gzip(Box<Members<Stream<R>>>),
    Zstd(Box<Frames<Stream<R>>>),
}

/// The packing that a stream begins with, if it is one that is not read.
fn unread(start: &[u8]) -> Option<&'static str> {
    match start {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        // A name in an archive may begin with `BZh9`; what follows here is the number of a block, or of the end.
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59]
        | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90] => Some("bzip2"),
        [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..] => Some("lz4"),
        _ => None,
    }
}

impl<R: Read> Unpacked<R> {
    /// Unpacks at most `limit` bytes and `members` streams one behind the other.
    pub(crate) fn new(mut stream: R, limit: u64, members: u64) -> io::Result<Self> {
        let mut start = Vec::new();
        stream.by_ref().take(START).read_to_end(&mut start)?;
        if let Some(packing) = unread(&start) {
            return Err(io::Error::other(format!(
                "it is packed with {packing}, which is not supported; pack it with gzip or zstd"
            )));
        }
        let stream = BufReader::with_capacity(BUFFER, io::Cursor::new(start.clone()).chain(stream));
        let count = Count { limit: members, used: 0 };
        let source = if start.starts_with(&GZIP) {
            Source::Gzip(Box::new(Members { decoder: GzDecoder::new(Slot(Some(stream))), count, open: true }))
        } else if start.starts_with(&ZSTD) || start.get(1..4) == Some(&SKIPPABLE) {
            Source::Zstd(Box::new(Frames { source: stream, decoder: window(), count, open: false, produced: 0 }))
        } else {
            Source::Plain(stream)
        };
        Ok(Unpacked { source, limit, left: limit, peeked: Vec::new(), exceeded: None })
    }

    /// Looks at the next bytes, at most so many, which are [`Unpacked::peeked`] then and read again later.
    pub(crate) fn peek(&mut self, bytes: usize) -> io::Result<()> {
        if self.peeked.len() < bytes {
            let mut peeked = Vec::with_capacity(bytes);
            self.by_ref().take(bytes as u64).read_to_end(&mut peeked)?;
            self.peeked = peeked;
        }
        Ok(())
    }

    /// What was looked at and not read yet.
    pub(crate) fn peeked(&self) -> &[u8] {
        &self.peeked
    }

    /// Bytes that came out of it.
    pub(crate) fn unpacked_bytes(&self) -> u64 {
        self.limit.saturating_sub(self.left)
    }

    /// The cap above which reading failed.
    pub(crate) fn exceeded(&self) -> Option<Excess> {
        self.exceeded
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.peeked.is_empty() {
            let length = self.peeked.as_slice().read(buffer)?;
            self.peeked.drain(..length);
            return Ok(length);
        }
        let read = match &mut self.source {
            Source::Plain(source) => source.read(buffer),
            Source::Gzip(source) => source.read(buffer).inspect_err(|_| self.exceeded = source.count.exceeded()),
            Source::Zstd(source) => source.read(buffer).inspect_err(|_| self.exceeded = source.count.exceeded()),
        }?;
        let Some(left) = self.left.checked_sub(read as u64) else {
            self.exceeded = Some(Excess::Bytes(self.limit));
            return Err(io::Error::other(format!("it unpacks to more than {} bytes", self.limit)));
        };
        self.left = left;
        Ok(read)
    }
}

/// How many streams there were, one behind the other.
struct Count {
    limit: u64,
    used: u64,
}

impl Count {
    fn next(&mut self) -> io::Result<()> {
        self.used = self.used.saturating_add(1);
        let exceeded = || io::Error::other(format!("it is packed in more than {} parts", self.limit));
        if self.used > self.limit { Err(exceeded()) } else { Ok(()) }
    }

    fn exceeded(&self) -> Option<Excess> {
        (self.used > self.limit).then_some(Excess::Members(self.limit))
    }
}

/// A reader that a decoder gives back when it is reset.
struct Slot<R>(Option<R>);

impl<R: Read> Read for Slot<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |reader| reader.read(buffer))
    }
}

impl<R: BufRead> BufRead for Slot<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.as_mut().map_or(Ok(&[]), BufRead::fill_buf)
    }

    fn consume(&mut self, amount: usize) {
        if let Some(reader) = &mut self.0 {
            reader.consume(amount);
        }
    }
}

/// The content of all members of a gzip stream, one after the other.
struct Members<R> {
    decoder: GzDecoder<Slot<R>>,
    count: Count,
    /// Whether a member has begun and not ended.
    open: bool,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.open {
                let read = self.decoder.read(buffer)?;
                if read > 0 {
                    return Ok(read);
                }
                self.open = false;
                self.count.next()?;
            }
            if self.decoder.get_mut().fill_buf()?.is_empty() {
                return Ok(0);
            }
            // The memory of the decoder is used again: an image may have a member for every file.
            let source = self.decoder.reset(Slot(None));
            *self.decoder.get_mut() = source;
            self.open = true;
        }
    }
}

fn window() -> FrameDecoder {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(ZSTD_WINDOW);
    decoder
}

/// The content of all frames of a zstd stream, one after the other.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    count: Count,
    /// Whether a frame has begun and not ended.
    open: bool,
    /// Bytes that came out of the present frame.
    produced: u64,
}

impl<R: BufRead> Frames<R> {
    /// Begins the next frame that has content; there may be none.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            self.count.next()?;
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    (self.open, self.produced) = (true, 0);
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let skipped = io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(io::Error::other("it ends inside of a zstd frame"));
                    }
                }
                Err(error) => return Err(io::Error::other(error.to_string())),
            }
        }
        Ok(false)
    }

    /// Compares the content of a frame that has ended with its checksum and length, where the frame has them.
    fn check(&self) -> io::Result<()> {
        let (written, size) = (self.decoder.get_checksum_from_data(), self.decoder.content_size());
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("the checksum of a zstd frame is not that of its content"));
        }
        if size != 0 && size != self.produced {
            return Err(io::Error::other("a zstd frame has another length than it says"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.open {
                while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                    self.decoder
                        .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                        .map_err(|error| io::Error::other(error.to_string()))?;
                }
                let read = self.decoder.read(buffer)?;
                if read > 0 {
                    self.produced = self.produced.saturating_add(read as u64);
                    return Ok(read);
                }
                self.open = false;
                self.check()?;
            }
            if !self.begin()? {
                return Ok(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write as _;

    /// A stream that comes one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn unpack(bytes: &[u8], limit: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Unpacked::new(bytes, limit, 10)?.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn every_packing_gives_the_content() {
        let content: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9][..], &zstd(&content)].concat();
        let (front, back) = content.split_at(1000);
        for packed in [
            content.clone(),
            gzip(&content),
            [gzip(front), gzip(back)].concat(),
            zstd(&content),
            [zstd(front), zstd(b""), zstd(back)].concat(),
            skippable,
        ] {
            assert!(unpack(&packed, 300_000).unwrap() == content);
            assert!(unpack(&packed, 299_999).is_err());
        }
        assert_eq!(unpack(b"", 0).unwrap(), b"");
    }

    #[test]
    fn a_stream_in_small_pieces_is_recognised() {
        for packed in [gzip(b"content"), zstd(b"content"), b"content".to_vec()] {
            let mut content = String::new();
            Unpacked::new(Slow(&packed), 100, 1).unwrap().read_to_string(&mut content).unwrap();
            assert_eq!(content, "content");
        }
    }

    #[test]
    fn parts_one_behind_the_other_are_counted_also_empty_ones() {
        let empty = [0x5a, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
        for part in [gzip(b"x"), gzip(b""), zstd(b"x"), zstd(b""), empty.to_vec()] {
            let unpacked = |parts: usize, limit| {
                let packed = part.repeat(parts);
                let mut unpacked = Unpacked::new(packed.as_slice(), 100, limit).unwrap();
                let outcome = io::copy(&mut unpacked, &mut io::sink());
                (outcome.is_ok(), unpacked.exceeded())
            };
            assert_eq!(unpacked(7, 7), (true, None));
            assert_eq!(unpacked(8, 7), (false, Some(Excess::Members(7))));
        }
    }

    #[test]
    fn what_was_looked_at_is_read_again() {
        for packed in [gzip(b"content"), zstd(b"content"), b"content".to_vec()] {
            let mut unpacked = Unpacked::new(Slow(&packed), 7, 1).unwrap();
            unpacked.peek(3).unwrap();
            assert_eq!(unpacked.peeked(), b"con");
            let mut content = String::new();
            unpacked.read_to_string(&mut content).unwrap();
            assert_eq!(content, "content");
        }
        let mut short = Unpacked::new(&b"c"[..], 7, 1).unwrap();
        short.peek(3).unwrap();
        assert_eq!(short.peeked(), b"c");
    }

    #[test]
    fn a_bomb_is_stopped_and_broken_streams_fail() {
        for bomb in [gzip(&vec![0; 10 << 20]), zstd(&vec![0; 10 << 20])] {
            assert!(bomb.len() < 100_000, "{}", bomb.len());
            let mut unpacked = Unpacked::new(bomb.as_slice(), 1 << 20, 1).unwrap();
            assert!(io::copy(&mut unpacked, &mut io::sink()).is_err());
            assert_eq!(unpacked.exceeded(), Some(Excess::Bytes(1 << 20)));
        }
        for packed in [gzip(&[7; 10_000]), zstd(&[7; 10_000])] {
            for cut in 5..packed.len() {
                assert!(unpack(&packed[..cut], 1 << 20).is_err(), "{cut} of {}", packed.len());
            }
        }
        // A frame that asks for a window of 2 GiB.
        assert!(unpack(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 1, 0, 0], 1 << 20).is_err());
    }

    #[test]
    fn a_zstd_frame_that_is_damaged_is_refused() {
        // What does not compress stands in the frame as it is.
        let content: Vec<u8> = (0..100).map(|number: u8| number.wrapping_mul(167)).collect();
        let packed = zstd(&content);
        let at = packed.windows(8).position(|window| window == &content[..8]).unwrap();
        for damaged in [at, at + 50, packed.len() - 1] {
            let mut packed = packed.clone();
            packed[damaged] ^= 1;
            for bytes in [packed.clone(), [packed, zstd(b"more")].concat()] {
                let error = unpack(&bytes, 1000).unwrap_err().to_string();
                assert!(error.contains("the checksum of a zstd frame"), "{damaged}: {error}");
            }
        }
        // A frame of one block, without a checksum, whose header says its length.
        let frame = |length: u8| {
            let block = (u32::try_from(content.len()).unwrap() << 3) | 1;
            [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, length][..], &block.to_le_bytes()[..3], &content].concat()
        };
        assert_eq!(unpack(&frame(100), 1000).unwrap(), content);
        for length in [99, 101] {
            assert!(unpack(&frame(length), 1000).is_err(), "{length}");
        }
        // What is skipped ends before its length.
        assert!(unpack(&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9], 100).is_err());
    }

    #[test]
    fn packings_that_are_not_read_are_refused_by_name() {
        for (start, want) in [
            (&b"\xfd7zXZ\0\0\x04"[..], Some("xz")),
            (b"BZh91AY&SY", Some("bzip2")),
            (b"BZh1\x17\x72\x45\x38\x50\x90", Some("bzip2")),
            (b"\x04\x22\x4d\x18\x64", Some("lz4")),
            (b"\x02\x21\x4c\x18\0", Some("lz4")),
            (b"BZh9.yaml\0\0\0", None),
            (b"BZ", None),
            (b"", None),
        ] {
            match (unpack(start, 100), want) {
                (Ok(content), None) => assert_eq!(content, start),
                (Err(error), Some(packing)) => {
                    assert!(error.to_string().contains(&format!("packed with {packing}")), "{error}");
                }
                (other, want) => panic!("{start:?}: {other:?}, not {want:?}"),
            }
        }
    }
}

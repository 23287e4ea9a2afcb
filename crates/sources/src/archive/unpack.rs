//! Unpacking a stream within bounds: gzip, zstd, or as it is.
//!
//! How a layer is packed is told by its first bytes, because media types are often wrong about it.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Frames without content begin with one of sixteen numbers; tools write tables of contents into them.
const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
/// How far back a zstd stream may refer, which is memory: what every decoder is asked to support (RFC 8878, 3.1.1.1.2).
const ZSTD_WINDOW: u64 = 8 << 20;
/// What is read at once.
const BUFFER: usize = 64 << 10;

/// A stream, unpacked, that fails when more than so many bytes come out of it.
pub(super) struct Unpacked<R: Read> {
    source: Source<R>,
    left: u64,
    /// Whether more came out than the limit.
    pub(super) exceeded: bool,
}

/// The first bytes, which were looked at, and the rest.
type Stream<R> = BufReader<io::Chain<io::Cursor<Vec<u8>>, R>>;

enum Source<R: Read> {
    Plain(Stream<R>),
    Gzip(Box<MultiGzDecoder<Stream<R>>>),
    Zstd(Box<Frames<Stream<R>>>),
}

impl<R: Read> Unpacked<R> {
    pub(super) fn new(mut stream: R, limit: u64) -> io::Result<Self> {
        let mut start = Vec::new();
        stream.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
        let stream = BufReader::with_capacity(BUFFER, io::Cursor::new(start.clone()).chain(stream));
        let source = if start.starts_with(&GZIP) {
            Source::Gzip(Box::new(MultiGzDecoder::new(stream)))
        } else if start.starts_with(&ZSTD) || start.get(1..4) == Some(&SKIPPABLE) {
            Source::Zstd(Box::new(Frames { source: stream, decoder: window(), open: false }))
        } else {
            Source::Plain(stream)
        };
        Ok(Unpacked { source, left: limit, exceeded: false })
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.source {
            Source::Plain(source) => source.read(buffer),
            Source::Gzip(source) => source.read(buffer),
            Source::Zstd(source) => source.read(buffer),
        }?;
        let Some(left) = self.left.checked_sub(read as u64) else {
            self.exceeded = true;
            return Err(io::Error::other("it unpacks to more than is read"));
        };
        self.left = left;
        Ok(read)
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
    /// Whether a frame has begun and not ended.
    open: bool,
}

impl<R: BufRead> Frames<R> {
    /// Begins the next frame that has content; there may be none.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.open = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error.to_string())),
            }
        }
        Ok(false)
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
                    return Ok(read);
                }
                self.open = false;
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
        Unpacked::new(bytes, limit)?.read_to_end(&mut content)?;
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
            Unpacked::new(Slow(&packed), 100).unwrap().read_to_string(&mut content).unwrap();
            assert_eq!(content, "content");
        }
    }

    #[test]
    fn a_bomb_is_stopped_and_broken_streams_fail() {
        for bomb in [gzip(&vec![0; 10 << 20]), zstd(&vec![0; 10 << 20])] {
            assert!(bomb.len() < 100_000, "{}", bomb.len());
            let mut unpacked = Unpacked::new(bomb.as_slice(), 1 << 20).unwrap();
            assert!(io::copy(&mut unpacked, &mut io::sink()).is_err());
            assert!(unpacked.exceeded);
        }
        for packed in [gzip(&[7; 10_000]), zstd(&[7; 10_000])] {
            for cut in 5..packed.len() {
                assert!(unpack(&packed[..cut], 1 << 20).is_err(), "{cut} of {}", packed.len());
            }
        }
        // A frame that asks for a window of 2 GiB.
        assert!(unpack(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 1, 0, 0], 1 << 20).is_err());
    }
}

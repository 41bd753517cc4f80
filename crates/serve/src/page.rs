//! The files of the page, by fixed names: no path from a request ever reaches the file system.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// What stands in the program.
const BUILT_IN: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));
/// The largest file that is inflated: a page of this size is none.
const LARGEST: u64 = 64 << 20;
/// Where a page begins.
const INDEX: &str = "index.html";
/// The simulator of the page, without which it needs a server.
pub const SIMULATOR: &str = "quell.wasm";

/// The endings of files that a page may have, and their types.
const TYPES: [(&str, &str); 10] = [
    ("css", "text/css; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
];

/// What a file of this name is; `None` where a page has no such file.
fn content_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    let known = TYPES.iter().find(|(known, _)| *known == ending)?;
    Some(known.1)
}

/// A file of the page.
#[derive(Debug, Clone)]
pub(crate) struct PageFile {
    /// As `Content-Type` has it.
    pub(crate) content_type: &'static str,
    /// Packed with gzip.
    pub(crate) packed: axum::body::Bytes,
}

impl PageFile {
    /// As it was written.
    pub(crate) fn plain(&self) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        GzDecoder::new(&*self.packed)
            .take(LARGEST)
            .read_to_end(&mut plain)?;
        Ok(plain)
    }
}

/// Why there is no page, or why it is not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The program was built without one.
    #[error("this quell was built without its page\n  fix: make page, then build quell again")]
    None,
    /// The page alone has nothing that simulates.
    #[error(
        "the page of this quell has no {SIMULATOR}, and without a server it needs that\n  fix: make wasm page, then build quell again"
    )]
    NoSimulator,
    /// What is there is not to be mixed with the page.
    #[error("{} is not empty, and holds no exported page; choose another folder", .0.display())]
    Foreign(PathBuf),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A page.
#[derive(Debug, Clone, Default)]
pub struct Page {
    files: BTreeMap<String, PageFile>,
}

impl Page {
    /// The page that was built into this program.
    ///
    /// # Errors
    ///
    /// It was built without one.
    pub fn built_in() -> Result<Self, PageError> {
        let mut page = Self::default();
        for (name, packed) in BUILT_IN {
            page.add(name, axum::body::Bytes::from_static(packed));
        }
        page.checked()
    }

    /// The files of a folder, for tests and for work on the page.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or has no `index.html`.
    pub fn of_folder(folder: &Path) -> Result<Self, PageError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| PageError::File { path, source }
        };
        let mut page = Self::default();
        for entry in fs::read_dir(folder).map_err(fail(folder))? {
            let path = entry.map_err(fail(folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if content_type(&name).is_some() && path.is_file() {
                let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
                let packed = fs::read(&path)
                    .and_then(|plain| gzip.write_all(&plain))
                    .and_then(|()| gzip.finish());
                page.add(&name, packed.map_err(fail(&path))?.into());
            }
        }
        page.checked()
    }

    fn add(&mut self, name: &str, packed: axum::body::Bytes) {
        if let Some(content_type) = content_type(name) {
            let file = PageFile {
                content_type,
                packed,
            };
            self.files.insert(name.to_owned(), file);
        }
    }

    fn checked(self) -> Result<Self, PageError> {
        match self.files.contains_key(INDEX) {
            true => Ok(self),
            false => Err(PageError::None),
        }
    }

    /// Whether the page can simulate by itself.
    pub fn has_simulator(&self) -> bool {
        self.files.contains_key(SIMULATOR)
    }

    /// The file at a path of a request: `/`, or `/` and the name of a file.
    pub(crate) fn at(&self, path: &str) -> Option<&PageFile> {
        let name = path.strip_prefix('/')?;
        self.files.get(if name.is_empty() { INDEX } else { name })
    }

    /// Writes the page into a folder, from which any web server can serve it. An older page there is replaced.
    ///
    /// # Errors
    ///
    /// The page cannot simulate by itself, the folder holds something else, or cannot be written.
    pub fn export(&self, folder: &Path) -> Result<(), PageError> {
        if !self.has_simulator() {
            return Err(PageError::NoSimulator);
        }
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| PageError::File { path, source }
        };
        fs::create_dir_all(folder).map_err(fail(folder))?;
        for entry in fs::read_dir(folder).map_err(fail(folder))? {
            let entry = entry.map_err(fail(folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !self.files.contains_key(&name) {
                return Err(PageError::Foreign(folder.to_owned()));
            }
        }
        for (name, file) in &self.files {
            let path = folder.join(name);
            file.plain()
                .and_then(|plain| fs::write(&path, plain))
                .map_err(fail(&path))?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn a_page_is_its_files_by_their_names() {
        let page = folder(&[
            ("index.html", "<p>"),
            ("page.js", "1"),
            (SIMULATOR, "w"),
            ("odd", "no"),
        ]);
        fs::create_dir(page.path().join("inside.js")).unwrap();
        let page = Page::of_folder(page.path()).unwrap();
        for (path, expected) in [
            ("/", Some(("text/html; charset=utf-8", "<p>"))),
            ("/index.html", Some(("text/html; charset=utf-8", "<p>"))),
            ("/page.js", Some(("text/javascript; charset=utf-8", "1"))),
            ("/quell.wasm", Some(("application/wasm", "w"))),
            ("/odd", None),
            ("/inside.js", None),
            ("/../page.js", None),
            ("//page.js", None),
            ("page.js", None),
            ("/PAGE.JS", None),
            ("", None),
        ] {
            let found = page
                .at(path)
                .map(|file| (file.content_type, file.plain().unwrap()));
            let expected = expected.map(|(kind, text)| (kind, text.as_bytes().to_vec()));
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn without_an_index_there_is_no_page() {
        let error = Page::of_folder(folder(&[("page.js", "1")]).path()).unwrap_err();
        assert!(error.to_string().contains("make page"), "{error}");
    }

    #[test]
    fn an_export_is_whole_and_goes_over_nothing_of_others() {
        let page = folder(&[("index.html", "<p>"), (SIMULATOR, "w")]);
        let page = Page::of_folder(page.path()).unwrap();
        let out = tempfile::tempdir().unwrap();
        let new = out.path().join("a/b");
        for _ in 0..2 {
            page.export(&new).unwrap();
            assert_eq!(fs::read_to_string(new.join("index.html")).unwrap(), "<p>");
        }
        fs::write(new.join("mine.txt"), "mine").unwrap();
        fs::write(new.join("index.html"), "old").unwrap();
        assert!(matches!(page.export(&new), Err(PageError::Foreign(_))));
        assert_eq!(fs::read_to_string(new.join("index.html")).unwrap(), "old");
    }

    #[test]
    fn a_page_that_needs_a_server_is_not_exported() {
        let page = Page::of_folder(folder(&[("index.html", "<p>")]).path()).unwrap();
        let out = tempfile::tempdir().unwrap();
        let new = out.path().join("new");
        let error = page.export(&new).unwrap_err();
        assert!(error.to_string().contains("quell.wasm"), "{error}");
        assert!(!new.exists());
    }
}

//! Errors of a comparison.

use std::error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use quell_lab::RunError;
use quell_lab::live::LiveError;

/// The reason why a comparison ended without its document.
#[derive(Debug)]
pub(crate) enum Error {
    /// A run gave no result.
    Run(RunError),
    /// This machine cannot run the live world.
    Live(LiveError),
    /// There is no kernel for the virtual world.
    Kernel(quell_kernel::Error),
    /// A file or a signal handler was refused.
    Io(io::Error),
    /// A sheet of an earlier comparison cannot be read.
    Sheet {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: SheetFault,
    },
    /// A sheet does not have a point that is to be kept.
    NoPoint {
        /// The name of the sheet.
        sheet: &'static str,
        /// The name of the point.
        point: String,
    },
    /// A line is no row of a sheet.
    NoRow(Vec<String>),
    /// The rounded figures of a row do not give the verdict that the row has.
    Rounded(Vec<String>),
    /// The document has no live part that could be kept.
    NoLivePart,
    /// The document does not have the markers of the part that is to be written.
    NoMarkers(PathBuf),
}

/// What is wrong with a sheet.
#[derive(Debug)]
pub(crate) enum SheetFault {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// This line has more or fewer cells than the head.
    Columns(String),
    /// A row has a figure of this title, which is none.
    NoFigure(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => write!(f, "{error}"),
            Self::Live(error) => write!(f, "{error}"),
            Self::Kernel(error) => write!(f, "{error}"),
            Self::Io(error) => write!(f, "{error}"),
            Self::Sheet { path, fault } => write!(f, "{}: {fault}", path.display()),
            Self::NoPoint { sheet, point } => write!(f, "{sheet} lacks {point}"),
            Self::NoRow(row) => write!(f, "not a row of a sheet: {row:?}"),
            Self::Rounded(row) => write!(f, "rounded too far, so run it again: {row:?}"),
            Self::NoLivePart => f.write_str("no live part to keep"),
            Self::NoMarkers(path) => {
                let path = path.display();
                write!(f, "{path} lacks the markers of the generated part")
            }
        }
    }
}

impl fmt::Display for SheetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "{error}"),
            Self::Columns(line) => write!(f, "{line:?} has other columns than the head"),
            Self::NoFigure(title) => write!(f, "{title:?} is no figure"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Run(error) => Some(error),
            Self::Live(error) => Some(error),
            Self::Kernel(error) => Some(error),
            Self::Io(error) => Some(error),
            Self::Sheet { fault, .. } => Some(fault),
            _ => None,
        }
    }
}

impl error::Error for SheetFault {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            Self::Columns(_) | Self::NoFigure(_) => None,
        }
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<LiveError> for Error {
    fn from(error: LiveError) -> Self {
        Self::Live(error)
    }
}

impl From<quell_kernel::Error> for Error {
    fn from(error: quell_kernel::Error) -> Self {
        Self::Kernel(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

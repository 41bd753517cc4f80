//! One declaration for the keys of a table: the struct, its rows, and how it is read and written.
//!
//! ```ignore
//! keys! {
//!     /// One direction of a link.
//!     pub struct DirectionSpec in Link, Reverse {
//!         /// Smallest number of bytes that a packet occupies on the link.
//!         mpu: Bytes = { default: Is("0B"), domain: bytes(Bytes::ZERO, MTU), example: r#"mpu = "64B""#, }
//!         /// Queue discipline of the forward direction.
//!         queue: QueueSpec = by hand { default: Required, domain: QUEUE, example: "queue = \"pie\"", }
//!             in Reverse { default: Derived("\"fifo\""), help: "Queue discipline of the reverse direction.", }
//!     } and {
//!         /// The trace that it follows.
//!         course: Option<LinkTrace>,
//!     }
//! }
//! ```
//!
//! The comment of a field is the help of its key, whose name has hyphens where the field has underscores. In the braces stand
//! fields of [`Key`](crate::section::Key), `name` among them where the key has another one. A table may stand in several sections;
//! after `in` comes what differs in one of them. A field that is read by hand stays empty in what `draft` gives, and so do those
//! after `and`, which have no key of their own.

/// Declares the keys of a table.
macro_rules! keys {
    (
        $(#[$attribute:meta])*
        pub struct $table:ident in $($section:ident),+ {
            $( $(#[doc = $help:literal])+ $field:ident: $type:ty =
                $(by $hand:ident)? { $($row:tt)* } $(in $other:ident { $($differs:tt)* })? )*
        } $(and { $( $(#[doc = $about:literal])+ $plain:ident: $plain_type:ty, )* })?
    ) => {
        $(#[$attribute])*
        #[allow(rustdoc::broken_intra_doc_links, reason = "tables of TOML have brackets")]
        pub struct $table {
            $( $(#[doc = $help])+ pub $field: $type, )*
            $($( $(#[doc = $about])+ pub $plain: $plain_type, )*)?
        }

        keys! {
            impl $table in $($section),+ {
                $( $(#[doc = $help])+ $field: $type = $(by $hand)? { $($row)* } $(in $other { $($differs)* })? )*
            } $(and { $( $plain: $plain_type, )* })?
        }
    };
    // The keys of a struct that is there already.
    (
        impl $table:ident in $($section:ident),+ {
            $( $(#[doc = $help:literal])+ $field:ident: $type:ty =
                $(by $hand:ident)? { $($row:tt)* } $(in $other:ident { $($differs:tt)* })? )*
        } $(and { $( $plain:ident: $plain_type:ty, )* })?
    ) => {
        const _: () = {
            #[allow(unused_imports, reason = "not every table has each of them")]
            use $crate::section::KeyDefault::{Derived, Is, Required};
            use $crate::section::{Key, Section};
            use $crate::view::{Keys, Reader, View};
            use $crate::written::{Field, Written, hyphens};

            const fn rows(section: Section) -> [Key; [$(stringify!($field)),*].len()] {
                [$( {
                    const NAME: [u8; stringify!($field).len()] = hyphens(stringify!($field));
                    let Ok(name) = ::std::str::from_utf8(&NAME) else { panic!() };
                    let row = Key { $($row)* ..Key::new(section, name, concat!($($help),*)) };
                    $( let row = match section { Section::$other => Key { $($differs)* ..row }, _ => row }; )?
                    row
                }, )*]
            }

            #[derive(Default)]
            pub(crate) struct Draft {
                $( pub(crate) $field: Option<$type>, )*
                $($( pub(crate) $plain: Option<$plain_type>, )*)?
            }

            impl Keys for $table {
                const TABLES: &'static [&'static [Key]] = &[$( &rows(Section::$section), )+];
                type Draft = Draft;
                fn draft(reader: &mut Reader, view: &View<'_>) -> Draft {
                    let mut rows = Self::ROWS.iter();
                    let mut next = || rows.next().map_or("", |row| row.name);
                    Draft {
                        $( $field: keys!(@read reader, view, next() $(, $hand)?), )*
                        $($( $plain: None, )*)?
                    }
                }
                fn finish(draft: Draft) -> Option<Self> {
                    Some(Self { $( $field: draft.$field?, )* $($( $plain: draft.$plain?, )*)? })
                }
                fn written(&self) -> impl Iterator<Item = (&'static Key, Option<Written>)> {
                    Self::ROWS.iter().zip([$( Field::written(&self.$field), )*])
                }
            }
        };
    };
    (@read $reader:ident, $view:ident, $name:expr) => { $view.get($reader, $name) };
    (@read $reader:ident, $view:ident, $name:expr, hand) => {{ $name; None }};
}

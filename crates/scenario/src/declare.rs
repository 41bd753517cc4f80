//! One declaration for the keys of a table: the struct, its rows, and how it is read and written.
//!
//! ```ignore
//! keys! {
//!     /// How long, and with which seeds.
//!     pub struct Run in Run {
//!         /// What is left out of all figures at the start.
//!         warmup: Time = { default: Is("0s"), domain: time(Time::ZERO, DAY), example: r#"warmup = "10s""# }
//!     }
//! }
//! ```
//!
//! The comment of a field is the help of its key, whose name has hyphens where the field has underscores. In the braces stand
//! fields of [`Key`](crate::section::Key). A field whose type is [read by hand](crate::written::Field::BY_HAND) stays empty in what
//! `draft` gives.

/// Declares the keys of a table.
macro_rules! keys {
    (
        $(#[$attribute:meta])*
        pub struct $table:ident in $section:ident {
            $( $(#[doc = $help:literal])* $field:ident: $type:ty = { $($row:tt)* } )*
        }
    ) => {
        $(#[$attribute])*
        #[allow(rustdoc::broken_intra_doc_links, reason = "tables of TOML have brackets")]
        pub struct $table { $( $(#[doc = $help])* pub $field: $type, )* }

        keys! {
            impl $table in $section { $( $(#[doc = $help])* $field: $type = { $($row)* } )* }
        }
    };
    // The keys of a struct that is there already.
    (
        impl $table:ident in $section:ident {
            $( $(#[doc = $help:literal])* $field:ident: $type:ty = { $($row:tt)* } )*
        }
    ) => {
        const _: () = {
            #[allow(unused_imports, reason = "not every table has each of them")]
            use $crate::section::KeyDefault::{Derived, Is, Required};
            use $crate::section::{Key, Section};
            use $crate::view::{Keys, Reader, View};
            use $crate::written::{Field, Written, hyphens};

            const ROWS: &[Key] = &[$( {
                const NAME: [u8; stringify!($field).len()] = hyphens(stringify!($field));
                let Ok(name) = ::std::str::from_utf8(&NAME) else { panic!() };
                Key { $($row)* ..Key::new(Section::$section, name, concat!($($help),*)) }
            }, )*];

            #[derive(Default)]
            pub(crate) struct Draft { $( pub(crate) $field: Option<$type>, )* }

            impl Keys for $table {
                const ROWS: &'static [Key] = ROWS;
                type Draft = Draft;
                fn draft(reader: &mut Reader, view: &View<'_>) -> Draft {
                    let mut rows = ROWS.iter();
                    Draft { $( $field: view.field(reader, rows.next().map_or("", |row| row.name)), )* }
                }
                fn finish(draft: Draft) -> Option<Self> {
                    Some(Self { $( $field: draft.$field?, )* })
                }
                fn written(&self) -> impl Iterator<Item = (&'static Key, Option<Written>)> {
                    ROWS.iter().zip([$( Field::written(&self.$field), )*])
                }
            }
        };
    };
}

//! How settings are declared: once, with type, default and meaning, for the engine and for the files that set them.
//!
//! `settings! { (pub struct X, keys x_keys { … }) }` makes the struct with its defaults, and a macro `x_keys!` that hands the same lines to another
//! macro. The language of scenarios takes them from there, so that a setting is a key of its files without a second description. A line is `field:
//! Type as Form = default, fact("…");`: form and facts say how files write it (`scenario::language`), and mean nothing here.

/// See the top of this file. The first argument is a dollar sign.
macro_rules! settings {
    (
        ($dollar:tt)
        $(#[doc = $about:literal])+
        $(#[derive($($derive:path),* $(,)?)])?
        pub struct $Name:ident, keys $keys:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde($($serde:tt)*)])?
                $field:ident: $type:ty $(as $form:ty)? = $default:expr $(, $fact:ident $(($($argument:expr),*))?)*;
            )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq $($(, $derive)*)?, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $Name {
            $(
                $(#[doc = $doc])+
                $(#[serde($($serde)*)])?
                pub $field: $type,
            )*
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        #[doc(hidden)]
        #[macro_export]
        macro_rules! $keys {
            ($dollar callback:ident) => {
                $dollar callback! {
                    $Name [$($about)+] {
                        $([$($doc)+] $field: $type $(as $form)? $(, $fact $(($($argument),*))?)*;)*
                    }
                }
            };
        }
    };
}

pub(crate) use settings;

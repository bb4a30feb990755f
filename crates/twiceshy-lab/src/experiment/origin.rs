//! Where the data of an experiment come from.

/// The program, the machine and the day that an experiment was measured with.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// The version of the code that measured.
    pub version: String,
    /// The program that measured: the first digits of its BLAKE3 hash.
    pub build: String,
    /// The commit that it was built from; empty if that is not known.
    pub commit: String,
    /// The processor's model.
    pub machine: String,
    /// The processor's cores.
    pub cores: u64,
    /// The day on which the experiment was completed.
    pub date: String,
    /// How long it took, in seconds.
    pub seconds: f64,
}

//! Names of actions that no operation of `semantics` has: replicas of tables, STS, and Keywright's own
//! calls.
//!
//! Sources: service authorization reference for DynamoDB and STS. It does not know what they need.

/// Actions by their names, in order.
macro_rules! actions {
    ($(#[$doc:meta])* $kind:ident: $($name:ident),* $(,)?) => {
        $(#[$doc])*
        #[expect(missing_docs, reason = "each variant is the action of its name")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind {
            $($name,)*
        }

        impl $kind {
            /// All of them, in this order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The action's name, without the prefix of its service.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// The action's place in `ALL`.
            #[expect(clippy::as_conversions, reason = "the number of a variant")]
            pub const fn place(self) -> usize {
                self as usize
            }
        }
    };
}

actions! {
    /// Parts of changes of replicas that no request is judged by: what the service itself does with replicas
    /// in several accounts, and witnesses.
    Replica:
    CreateGlobalTableWitness,
    DeleteGlobalTableWitness,
    ReadDataForReplication,
    ReplicateSettings,
    WriteDataForReplication,
}

actions! {
    /// The actions of STS.
    Sts:
    AssumeRole,
    AssumeRoleWithWebIdentity,
    GetAccessKeyInfo,
    GetCallerIdentity,
    GetSessionToken,
    SetSourceIdentity,
    TagSession,
}

actions! {
    /// Keywright's own calls, below `/_keywright/` and at the management listener, and what its studio does.
    Own:
    BackUpTables,
    BranchTables,
    ChangeSimulation,
    DeleteBranch,
    DescribeBackups,
    FindTable,
    GetClock,
    GetImportErrors,
    GetItemHistory,
    GetMetrics,
    GetSimulation,
    GetTableChanges,
    ListDestinations,
    ListJobs,
    ListReplicas,
    ListTriggers,
    ManageEncryption,
    MoveClock,
    RepairReplicas,
    RestoreTables,
    RollBackTable,
    UseModels,
    VerifyReplicas,
}

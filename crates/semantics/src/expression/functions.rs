//! The functions of the expression language: their names, where they may stand, how many operands they take.

/// Every function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Contains,
    IfNotExists,
    ListAppend,
    Size,
}

/// Where a function may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionPlace {
    /// It is itself a condition.
    Condition,
    /// It is an operand in a condition.
    ConditionOperand,
    /// It is an operand of SET.
    Update,
}

impl Function {
    const ALL: [Self; 8] = [
        Self::AttributeExists,
        Self::AttributeNotExists,
        Self::AttributeType,
        Self::BeginsWith,
        Self::Contains,
        Self::IfNotExists,
        Self::ListAppend,
        Self::Size,
    ];

    /// Names are case-sensitive.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AttributeExists => "attribute_exists",
            Self::AttributeNotExists => "attribute_not_exists",
            Self::AttributeType => "attribute_type",
            Self::BeginsWith => "begins_with",
            Self::Contains => "contains",
            Self::IfNotExists => "if_not_exists",
            Self::ListAppend => "list_append",
            Self::Size => "size",
        }
    }

    pub(super) const fn place(self) -> FunctionPlace {
        match self {
            Self::AttributeExists
            | Self::AttributeNotExists
            | Self::AttributeType
            | Self::BeginsWith
            | Self::Contains => FunctionPlace::Condition,
            Self::Size => FunctionPlace::ConditionOperand,
            Self::IfNotExists | Self::ListAppend => FunctionPlace::Update,
        }
    }

    pub(super) const fn operand_count(self) -> usize {
        match self {
            Self::AttributeExists | Self::AttributeNotExists | Self::Size => 1,
            Self::AttributeType
            | Self::BeginsWith
            | Self::Contains
            | Self::IfNotExists
            | Self::ListAppend => 2,
        }
    }
}

//! Stack machine that interprets pickles.
//!
//! Each instruction consumes at least one byte and creates at most one value. There are no jumps, so
//! interpretation ends.

use super::cursor::{Cursor, shortened};
use super::{Entry, Global, Id, Limits, Value, literal, opcode};
use crate::error::{Error, Result};
use crate::files;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// Interprets the instructions up to STOP; returns all values and the id of the final one.
pub(super) fn run<'a>(path: &'a Path, bytes: &'a [u8], limits: Limits) -> Result<(Vec<Entry<'a>>, Id)> {
    let mut machine = Machine {
        cursor: Cursor::new(path, bytes),
        limits,
        entries: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        allocated: 0,
        encoded: 0,
    };
    loop {
        let code = machine.cursor.instruction()?;
        if code == opcode::STOP {
            let root = machine.pop()?;
            return Ok((machine.entries, root));
        }
        match literal::read(&mut machine.cursor, code)? {
            Some(value) => machine.push(value)?,
            None => machine.step(code)?,
        }
    }
}

struct Machine<'a> {
    cursor: Cursor<'a>,
    limits: Limits,
    entries: Vec<Entry<'a>>,
    stack: Vec<Id>,
    /// Stack heights at which a MARK was set.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
    /// Number of values, marks and memo entries so far.
    allocated: u32,
    /// Number of bytes produced by `_codecs.encode` so far.
    encoded: usize,
}

impl<'a> Machine<'a> {
    fn step(&mut self, code: u8) -> Result<()> {
        match code {
            opcode::PROTO => match self.cursor.u8()? {
                0..=4 => Ok(()),
                found => Err(self.cursor.refuse("pickle protocol 0 to 4", format!("protocol {found}"))),
            },
            opcode::FRAME => self.cursor.array::<8>().map(drop),
            opcode::MARK => {
                self.count_allocation()?;
                files::push(self.cursor.path, &mut self.marks, self.stack.len())
            }
            opcode::POP if self.marks.last() == Some(&self.stack.len()) => self.pop_to_mark().map(drop),
            opcode::POP => self.pop().map(drop),
            opcode::POP_MARK => self.pop_to_mark().map(drop),
            opcode::DUP => {
                let top = self.top()?;
                self.push_id(top)
            }
            opcode::EMPTY_TUPLE => self.push(Value::Tuple(Vec::new())),
            opcode::TUPLE => {
                let items = self.pop_to_mark()?;
                self.push(Value::Tuple(items))
            }
            opcode::TUPLE1 | opcode::TUPLE2 | opcode::TUPLE3 => {
                let mut items = vec![Id(0); usize::from(code - opcode::TUPLE1) + 1];
                for item in items.iter_mut().rev() {
                    *item = self.pop()?;
                }
                self.push(Value::Tuple(items))
            }
            opcode::EMPTY_LIST => self.push(Value::List(Vec::new())),
            opcode::LIST => {
                let items = self.pop_to_mark()?;
                self.push(Value::List(items))
            }
            opcode::APPEND => {
                let item = self.pop()?;
                self.append(&[item])
            }
            opcode::APPENDS => {
                let items = self.pop_to_mark()?;
                self.append(&items)
            }
            opcode::EMPTY_DICT => self.push(Value::Dict(Vec::new())),
            opcode::DICT => {
                let items = self.pop_to_mark()?;
                self.push(Value::Dict(Vec::new()))?;
                self.insert(&items)
            }
            opcode::SETITEM => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.insert(&[key, value])
            }
            opcode::SETITEMS => {
                let items = self.pop_to_mark()?;
                self.insert(&items)
            }
            opcode::PUT | opcode::BINPUT | opcode::LONG_BINPUT | opcode::MEMOIZE => {
                let key = self.memo_key(code)?;
                let top = self.top()?;
                self.count_allocation()?;
                self.memo.insert(key, top);
                Ok(())
            }
            opcode::GET | opcode::BINGET | opcode::LONG_BINGET => {
                let key = self.memo_key(code)?;
                match self.memo.get(&key) {
                    Some(&id) => self.push_id(id),
                    None => Err(self.cursor.refuse("a value that was stored before", format!("memo entry {key}"))),
                }
            }
            opcode::GLOBAL => {
                let (module, name) = (self.cursor.line()?, self.cursor.line()?);
                let global = self.find(module, name)?;
                self.push(Value::Global(global))
            }
            opcode::STACK_GLOBAL => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Value::Str(module), Value::Str(name)) = (self.value(module), self.value(name)) else {
                    return Err(self.cursor.refuse("the name of a type", self.value(name).describe()));
                };
                let global = self.find(module.as_bytes(), name.as_bytes())?;
                self.push(Value::Global(global))
            }
            opcode::INST => {
                let (module, name) = (self.cursor.line()?, self.cursor.line()?);
                self.find(module, name)?;
                Err(self.unknown(code))
            }
            opcode::REDUCE | opcode::NEWOBJ => self.call(code),
            opcode::BUILD => self.build(),
            _ => Err(self.unknown(code)),
        }
    }

    fn memo_key(&mut self, code: u8) -> Result<u32> {
        match code {
            opcode::MEMOIZE => Ok(self.memo.len() as u32),
            opcode::BINPUT | opcode::BINGET => Ok(self.cursor.u8()?.into()),
            opcode::LONG_BINPUT | opcode::LONG_BINGET => self.cursor.u32(),
            _ => literal::parse_line(&mut self.cursor, literal::number),
        }
    }

    /// Appends items to the list on top of the stack.
    fn append(&mut self, items: &[Id]) -> Result<()> {
        let list = self.top()?;
        match &mut self.entries[list.0 as usize].value {
            Value::List(all) => {
                files::reserve(self.cursor.path, all, items.len())?;
                all.extend_from_slice(items);
            }
            other => return Err(self.cursor.refuse("a list to append to", other.describe())),
        }
        Ok(())
    }

    /// Inserts alternating keys and values into the dict on top of the stack.
    fn insert(&mut self, items: &[Id]) -> Result<()> {
        if !items.len().is_multiple_of(2) {
            return Err(self.cursor.refuse("a value for every key of a dict", "a key without one"));
        }
        let dict = self.top()?;
        match &mut self.entries[dict.0 as usize].value {
            Value::Dict(all) => {
                files::reserve(self.cursor.path, all, items.len() / 2)?;
                all.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            }
            other => return Err(self.cursor.refuse("a dict to insert into", other.describe())),
        }
        Ok(())
    }

    /// Looks up an allowed name.
    fn find(&self, module: &[u8], name: &[u8]) -> Result<Global> {
        Global::find(module, name).ok_or_else(|| Error::ForbiddenGlobal {
            path: self.cursor.path.to_owned(),
            offset: self.cursor.start,
            name: format!("{}.{}", shortened(module), shortened(name)),
        })
    }

    /// Builds the result of calling an allowed name with the arguments that numpy and scipy use.
    fn call(&mut self, code: u8) -> Result<()> {
        let (arguments, callable) = (self.pop()?, self.pop()?);
        let (Value::Global(callable), Value::Tuple(arguments)) = (self.value(callable), self.value(arguments)) else {
            let found = format!("a call of {}", self.value(callable).describe());
            return Err(self.cursor.refuse("a numpy or scipy type and a tuple of arguments", found));
        };
        let first = arguments.first().map(|&id| self.value(id));
        let result = match (callable, first) {
            (Global::CsrMatrix, None) if code == opcode::NEWOBJ => Some(Value::Csr(None)),
            (Global::Reconstructor, Some(Value::Global(Global::CsrMatrix))) => Some(Value::Csr(None)),
            (Global::Reconstruct, Some(Value::Global(Global::NdArray))) => Some(Value::Array(None)),
            (Global::Dtype, Some(Value::Bytes(_) | Value::Str(_))) => {
                Some(Value::Dtype { code: arguments[0], state: None })
            }
            (Global::DefaultDict, None | Some(Value::Global(Global::List))) => Some(Value::Dict(Vec::new())),
            (Global::Encode, Some(Value::Str(text))) => {
                let latin1 = arguments.get(1).is_some_and(|&codec| *self.value(codec) == Value::Str("latin1".into()));
                let bytes =
                    text.chars().map(|letter| u8::try_from(u32::from(letter)).ok().filter(|_| latin1)).collect();
                Option::map(bytes, |bytes| Value::Bytes(Cow::Owned(bytes)))
            }
            _ => None,
        };
        let Some(result) = result else {
            let found = format!("a call of {callable:?} with other arguments");
            return Err(self.cursor.refuse("a call that makes an array, a dict or bytes", found));
        };
        if let Value::Bytes(bytes) = &result {
            // A valid file encodes each text once. Repeated encoding of a shared text could exhaust memory.
            self.encoded += bytes.len();
            if self.encoded > self.cursor.len() {
                return Err(self.too_large("bytes encoded from text", self.cursor.len() as u64, self.encoded as u64));
            }
        }
        self.push(result)
    }

    /// Sets the state of the object on top of the stack.
    fn build(&mut self) -> Result<()> {
        let given = self.pop()?;
        let object = self.top()?;
        match &mut self.entries[object.0 as usize].value {
            Value::Array(state) | Value::Csr(state) | Value::Dtype { state, .. } => *state = Some(given),
            other => return Err(self.cursor.refuse("an array or a dtype to give a state to", other.describe())),
        }
        Ok(())
    }

    fn value(&self, id: Id) -> &Value<'a> {
        &self.entries[id.0 as usize].value
    }

    fn push(&mut self, value: Value<'a>) -> Result<()> {
        self.push_id(Id(self.entries.len() as u32))?;
        files::push(self.cursor.path, &mut self.entries, Entry { offset: self.cursor.start, value })
    }

    /// Pushes a reference to an existing value.
    fn push_id(&mut self, id: Id) -> Result<()> {
        self.count_allocation()?;
        files::push(self.cursor.path, &mut self.stack, id)
    }

    /// Returns the topmost value above the last mark.
    fn top(&self) -> Result<Id> {
        let floor = self.marks.last().map_or(0, |&mark| mark);
        let top = self.stack[floor..].last();
        top.copied().ok_or_else(|| self.cursor.refuse("a value on the stack", "none"))
    }

    fn pop(&mut self) -> Result<Id> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>> {
        let mark = self.marks.pop().ok_or_else(|| self.cursor.refuse("a mark on the stack", "none"))?;
        Ok(self.stack.split_off(mark))
    }

    /// Counts a new value, mark or memo entry against the limit.
    fn count_allocation(&mut self) -> Result<()> {
        if self.allocated >= self.limits.values {
            let limit = u64::from(self.limits.values);
            return Err(self.too_large("values", limit, limit + 1));
        }
        self.allocated += 1;
        Ok(())
    }

    fn too_large(&self, what: &'static str, limit: u64, found: u64) -> Error {
        Error::too_large(self.cursor.path, what, limit, found)
    }

    fn unknown(&self, code: u8) -> Error {
        self.cursor.refuse("an instruction that arrays, lists and dicts need", format!("{code:#04x}"))
    }
}

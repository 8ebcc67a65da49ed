//! Speaks from Rust, by declarations written by hand: BUNDLE PHONEMES VOICE SPEED SEED OUT, a file of float32 numbers.
#![allow(dead_code)] // fields that are not read here
use std::ffi::{c_char, c_double, c_int, c_void, CStr, CString};
use std::{env, fs, ptr, slice};

#[repr(C)]
struct Error {
    code: c_int,
    text: [c_char; 2044],
}

#[repr(C)]
struct Request {
    phonemes: *const c_char,
    tokens: *const i64,
    token_count: usize,
    voice: *const c_char,
    style: *const f32,
    speed: c_double,
}

#[repr(C)]
struct Word {
    text: *const c_char,
    start_sample: i64,
    end_sample: i64,
    spoken: c_int,
}

#[repr(C)]
struct Speech {
    samples: usize,
    audio: *const f32,
    durations: *const i64,
    token_count: usize,
    words: *const Word,
    word_count: usize,
    notice: *const c_char,
}

#[link(name = "kokoro")]
extern "C" {
    fn kokoro_open(
        folder: *const c_char,
        sha256: *const c_char,
        threads: c_int,
        bundle: *mut *mut c_void,
        error: *mut Error,
    ) -> c_int;
    fn kokoro_close(bundle: *mut c_void);
    fn kokoro_predict(
        bundle: *mut c_void,
        request: *const Request,
        speech: *mut *mut Speech,
        error: *mut Error,
    ) -> c_int;
    fn kokoro_decode(
        bundle: *mut c_void,
        speech: *mut Speech,
        seed: u64,
        noise: *const f32,
        count: usize,
        error: *mut Error,
    ) -> c_int;
    fn kokoro_free(speech: *mut Speech);
}

fn check(code: c_int, error: &Error) {
    if code != 0 {
        eprintln!("{}", unsafe { CStr::from_ptr(error.text.as_ptr()) }.to_string_lossy());
        std::process::exit(error.code);
    }
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let text = |place: usize| CString::new(words[place].as_str()).unwrap();
    let (folder, phonemes, voice) = (text(0), text(1), text(2));
    let mut error = Error { code: 0, text: [0; 2044] };
    let (mut bundle, mut speech) = (ptr::null_mut(), ptr::null_mut());
    let request = Request {
        phonemes: phonemes.as_ptr(),
        tokens: ptr::null(),
        token_count: 0,
        voice: voice.as_ptr(),
        style: ptr::null(),
        speed: words[3].parse().unwrap(),
    };
    unsafe {
        check(kokoro_open(folder.as_ptr(), ptr::null(), 0, &mut bundle, &mut error), &error);
        check(kokoro_predict(bundle, &request, &mut speech, &mut error), &error);
        check(kokoro_decode(bundle, speech, words[4].parse().unwrap(), ptr::null(), 0, &mut error), &error);
        let said = &*speech;
        let audio = slice::from_raw_parts(said.audio, said.samples);
        fs::write(&words[5], audio.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        for word in slice::from_raw_parts(said.words, said.word_count) {
            let text = CStr::from_ptr(word.text).to_str().unwrap();
            println!("{} {} {}", word.start_sample, word.end_sample, text);
        }
        kokoro_free(speech);
        kokoro_close(bundle);
    }
}

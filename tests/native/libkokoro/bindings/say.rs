//! Says a text from Rust, by declarations written by hand: BUNDLE TEXT VOICE SPEED SEED OUT, a file of float32 numbers.
#![allow(dead_code)] // fields that are not read here
use std::ffi::{c_char, c_double, c_int, c_void, CStr, CString};
use std::{env, fs, ptr, slice};

#[repr(C)]
struct Error {
    code: c_int,
    text: [c_char; 2044],
}

#[repr(C)]
struct Text {
    text: *const c_char,
    voice: *const c_char,
    speed: c_double,
    markup: c_int,
    omit: c_int,
}

#[repr(C)]
struct Word {
    phonemes: *const c_char,
    start_sample: i64,
    end_sample: i64,
    spoken: c_int,
}

#[repr(C)]
struct Place {
    start: usize,
    end: usize,
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
    places: *const Place,
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
    fn kokoro_plan_text(
        bundle: *mut c_void,
        text: *const Text,
        plan: *mut *mut c_void,
        error: *mut Error,
    ) -> c_int;
    fn kokoro_next_piece(plan: *mut c_void, speech: *mut *mut Speech, error: *mut Error) -> c_int;
    fn kokoro_decode(
        bundle: *mut c_void,
        speech: *mut Speech,
        seed: u64,
        noise: *const f32,
        count: usize,
        error: *mut Error,
    ) -> c_int;
    fn kokoro_free(speech: *mut Speech);
    fn kokoro_free_plan(plan: *mut c_void);
    fn kokoro_close(bundle: *mut c_void);
}

fn check(code: c_int, error: &Error) {
    if code != 0 {
        eprintln!("{}", unsafe { CStr::from_ptr(error.text.as_ptr()) }.to_string_lossy());
        std::process::exit(error.code);
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (text, seed) = (arguments[1].as_str(), arguments[4].parse().unwrap());
    let string = |place: usize| CString::new(arguments[place].as_str()).unwrap();
    let (folder, content, voice, speed) = (string(0), string(1), string(2), arguments[3].parse().unwrap());
    let (mut samples, mut audio) = (0, Vec::new());
    // shown in docs/c.md
    let mut error = Error { code: 0, text: [0; 2044] };
    let (mut bundle, mut plan, mut piece) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let request = Text { text: content.as_ptr(), voice: voice.as_ptr(), speed, markup: 0, omit: 0 };
    unsafe {
        check(kokoro_open(folder.as_ptr(), ptr::null(), 0, &mut bundle, &mut error), &error);
        check(kokoro_plan_text(bundle, &request, &mut plan, &mut error), &error);
        loop {
            check(kokoro_next_piece(plan, &mut piece, &mut error), &error);
            if piece.is_null() {
                break;
            }
            check(kokoro_decode(bundle, piece, seed, ptr::null(), 0, &mut error), &error);
            let speech = &*piece;
            audio.extend_from_slice(slice::from_raw_parts(speech.audio, speech.samples));
            for i in 0..speech.word_count {
                let (word, place) = (&*speech.words.add(i), &*speech.places.add(i));
                let phonemes = CStr::from_ptr(word.phonemes).to_str().unwrap();
                let (start, end) = (samples + word.start_sample, samples + word.end_sample);
                println!("{start} {end} {phonemes} {}", &text[place.start..place.end]);
            }
            samples += speech.samples as i64;
            kokoro_free(piece);
        }
        kokoro_free_plan(plan);
        kokoro_close(bundle);
    }
    // until here
    let bytes: Vec<u8> = audio.iter().flat_map(|sample: &f32| sample.to_le_bytes()).collect();
    fs::write(&arguments[5], bytes).unwrap();
}
